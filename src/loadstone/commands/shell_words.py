"""What Python calls a parameter, in the words of the shell.

Readers and estimators speak of ``n_nonzero=99``; who typed ``--nonzero 99`` should read that.
"""

from __future__ import annotations

import re

#: How a parameter is called on the command line.
FLAGS = {
    "n_components": "--components",
    "n_nonzero": "--nonzero",
    "nonnegative": "--nonnegative",
    "orthogonality": "--orthogonality",
    "objective": "--objective",
    "standardize": "--standardize",
    "certify": "--certify",
    "effort": "--effort",
    "time_limit": "--time-limit",
    "random_state": "--seed",
    "columns": "--columns",
    "drop": "--drop",
    "index": "--index",
    "labels": "--labels",
    "weights": "--weights",
    "log1p": "--log1p",
    "missing": "--missing",
    "transpose": "--transpose",
    "turned": "--transpose",
    "layer": "--layer",
    "sheet": "--sheet",
}
#: Parameters that cannot be mistaken for a word of a sentence.
_UNMISTAKABLE = ("n_components", "n_nonzero", "random_state", "time_limit")
_ANY = "|".join(FLAGS)
_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|[\w.+-]*[\w+-]"
_GIVEN = re.compile(rf"(?<![\w'\"])({_ANY})=({_VALUE})")
_BARE = re.compile(rf"(?<![\w'\"=-])({'|'.join(_UNMISTAKABLE)})(?![\w'\"=])")
#: What only Python can be given.
_ONLY_PYTHON = (
    ", an instance of 'numpy.random.mtrand.RandomState' or None",
    ", or let the search choose",
)
_MISSING = (
    "--missing mean fills missing values, --missing rows and --missing columns leave out what they "
    "are in, and --method bayes models them"
)
#: What is said in other words; who wants ``False`` leaves the option out.
_OTHERWISE = {
    "use None for all features": "use all for all features",
    "or None for all features": "or all for all features",
    "give False or ": "give ",
    "did you mean False?": "leave the option out",
    "SparseProbabilisticPCA and SparseNoisyPCA take it": "--method bayes and --method noisy take it",
}
_FEATURES = re.compile(r"\bn_features=(\d+)")


def flag_of(parameter: str) -> str:
    """The option that sets a parameter."""
    return FLAGS[parameter]


def in_shell_words(sentence: str) -> str:
    """The sentence with options in place of parameters; names in quotes stay as they are."""
    for python, shell in _OTHERWISE.items():
        sentence = sentence.replace(python, shell)
    if "NaN" in sentence:
        # Loaded here, because help and mistyped options need none of it.
        from loadstone.covariance.checks import WAYS_OUT_OF_NAN

        sentence = sentence.replace(WAYS_OUT_OF_NAN, _MISSING)
    for words in _ONLY_PYTHON:
        sentence = sentence.replace(words, "")
    sentence = _GIVEN.sub(lambda found: _option(found[1], found[2]), sentence)
    sentence = _FEATURES.sub(r"\1 (the number of features)", sentence)
    return _BARE.sub(lambda found: FLAGS[found[1]], sentence)


def _option(parameter: str, value: str) -> str:
    flag = FLAGS[parameter]
    if value in {"True", "False"}:
        return flag if value == "True" else f"no {flag}"
    if value[:1] in "'\"":
        value = value if " " in value or "," in value else value[1:-1]
    elif value[:1] == "[":
        value = ",".join(part.strip().strip("'\"") for part in value[1:-1].split(","))
    return f"{flag} {'all' if value == 'None' else value}"
