"""What estimators say: docstrings that match the code, warnings at the line that caused them."""

import inspect
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from fitted_state import state
from loadstone import SparsePCA, SparsePCACV, cardinality_path, certify
from registry import estimators, settings, small_data, subjects

NAMES = [f"f{i}" for i in range(12)]


def sections(cls):
    parts = re.split(r"^(\S[^\n]*)\n-{3,}\n", inspect.getdoc(cls), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(cls, section):
    """Names of a section with their types and texts."""
    found = re.findall(
        r"^(\w[\w, ]*) : ([^\n]+)\n((?:    [^\n]*\n?|\n)+)", sections(cls)[section], re.MULTILINE
    )
    assert found, f"{cls.__name__} has an empty section {section}"
    return {name: (kind, text) for name, kind, text in found}


@pytest.mark.parametrize("cls", estimators())
def test_parameters_are_documented_with_their_defaults(cls):
    documented = entries(cls, "Parameters")
    parameters = inspect.signature(cls).parameters
    assert set(documented) == set(parameters)
    for name, (kind, text) in documented.items():
        assert text.strip(), name
        default = parameters[name].default
        written = re.search(r"default=(.+)$", kind)
        if written is None:
            assert kind.endswith("optional"), (name, kind)
            assert default is None
        else:
            assert eval(written.group(1)) == default, (name, kind)
        for option in re.findall(r"\{([^}]*)\}", kind):
            assert default in (*eval(f"({option},)"), None), (name, kind)


@pytest.mark.parametrize("cls", estimators())
def test_attributes_are_documented_and_exist(cls):
    documented = entries(cls, "Attributes")
    frame = pd.DataFrame(small_data(), columns=NAMES)
    fitted = {name for _, way in settings(cls) for name in state(cls(**way).fit(frame))}
    assert fitted == set(documented)
    assert all(text.strip() for _, text in documented.values())


@pytest.mark.parametrize("cls", estimators())
def test_sections_stand_in_their_order_and_numpydoc_reads_them(cls):
    order = ["Parameters", "Attributes", "See Also", "Notes", "References", "Examples"]
    titles = list(sections(cls))
    assert titles == [title for title in order if title in titles]
    assert {"Parameters", "Attributes", "See Also", "Examples"} <= set(titles)
    first = inspect.getdoc(cls).splitlines()[0]
    assert first.endswith(".")
    assert len(first) <= 100
    docscrape = pytest.importorskip(
        "numpydoc.docscrape", reason="the documentation tools are not installed"
    )
    doc = docscrape.NumpyDocString(inspect.getdoc(cls))
    assert {p.name for p in doc["Parameters"]} == set(inspect.signature(cls).parameters)


@pytest.mark.parametrize("cls", estimators())
def test_public_methods_say_what_they_take_and_return(cls):
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if name.startswith("_") or not method.__module__.startswith("loadstone"):
            continue
        doc = inspect.getdoc(method)
        for parameter in list(inspect.signature(method).parameters)[1:]:
            assert re.search(rf"^\**{parameter}\b.* : |^\*\*{parameter}$", doc, re.MULTILINE), (
                name,
                parameter,
            )


def heard(call):
    """Warnings of a call, each of which must point at a line of this file."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        call()
    assert {warning.filename for warning in record} == {__file__}
    lines = {warning.lineno for warning in record}
    source, first = inspect.getsourcelines(call)
    assert lines <= set(range(first, first + len(source)))
    return [str(warning.message) for warning in record]


def constant():
    X = small_data()
    X[:, 3] = 7.0
    return X


@pytest.mark.parametrize("subject", subjects())
def test_warnings_of_a_fit_point_at_its_line(subject):
    X = constant()
    (said,) = heard(lambda: clone(subject).fit(X))
    assert said == "1 constant feature(s) are never selected: 3"
    frame = pd.DataFrame(X, columns=NAMES)
    (said,) = heard(lambda: clone(subject).fit_transform(frame))
    assert said == "1 constant feature(s) are never selected: 'f3'"


@pytest.mark.parametrize("subject", subjects("fit_covariance"))
def test_warnings_of_a_covariance_point_at_its_line(subject):
    if "cv" in subject.get_params() or "svd_entropy" in subject.get_params().values():
        return
    S = np.cov(constant().T)
    (said,) = heard(lambda: clone(subject).fit_covariance(S, n_samples=60))
    assert said == "1 constant feature(s) are never selected: 3"


@pytest.mark.parametrize("subject", subjects("max_iter"))
def test_unfinished_searches_point_at_the_line_of_the_fit(subject):
    model = clone(subject).set_params(max_iter=1)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(small_data())
    # Whoever settles in one step has nothing to tell.
    assert {warning.filename for warning in record} <= {__file__}


@pytest.mark.parametrize("subject", subjects("add_components"))
def test_warnings_of_additions_point_at_their_line(subject):
    X = small_data()
    model = clone(subject).fit(X)
    said = heard(lambda: model.add_components(X, 30))
    assert any("fewer than asked for" in text for text in said)


def test_warnings_of_functions_point_at_their_line():
    X = constant()
    for call in (
        lambda: cardinality_path(X, [2, 3]),
        lambda: cardinality_path(covariance=np.cov(X.T), n_nonzeros=[2, 3]),
        lambda: certify(X, n_nonzero=2, effort="instant"),
        lambda: certify(np.cov(X.T), n_nonzero=2, effort="instant", is_covariance=True),
    ):
        assert "1 constant feature" in heard(call)[0]
    X = small_data()
    assert "unsorted" in heard(lambda: cardinality_path(X, [3, 2]))[0]
    assert "unsorted" in heard(lambda: SparsePCACV(n_nonzeros=[3, 2], cv=2).fit(X))[0]
    assert "fewer" in heard(lambda: SparsePCA(30, n_nonzero=2, effort="fast").fit(X))[0]
