"""Certificates that were tampered with: every change makes them false or malformed.

As a script it tries many, in memory and through files, with ``verify`` and with the
stand-alone verifier, and prints what was accepted or ended in anything but a refusal:

    cd tests && python -m certificates.forgeries 2000
"""

import importlib.util
import itertools
import sys
import tempfile
from pathlib import Path

import numpy as np

from loadstone.certificates import CertificateError

from .certificate_kinds import FIRST_SLICED, made
from .forgery_kinds import FORGERIES, certificate_data, poisoned
from .joint_forgery_kinds import leaves_room, made_together, object_forgeries

TOOL = Path(__file__).resolve().parents[2] / "tools" / "verify_certificate.py"


def stand_alone():
    """The verifier as a module, without installing it."""
    spec = importlib.util.spec_from_file_location("verify_certificate", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["verify_certificate"] = module
    spec.loader.exec_module(module)
    return module


def other_data(X, rng):
    """Data that is not what the certificate is about."""
    kind = rng.integers(6)
    if kind == 0:
        return 1.01 * X
    if kind == 1:
        return X[:, ::-1]
    if kind == 2:
        return X[:-1]
    if kind == 3:
        return X + 0.05 * rng.standard_normal(X.shape)
    if kind == 4:
        return X[:, :-1]
    return poisoned(X, rng)


def is_about_correlations(certificate):
    about = certificate.about
    return abs(about.trace - about.n_features) + abs(about.squares - about.n_features) < 1e-3


def same_correlations(X, other):
    if X.shape != other.shape or not np.isfinite(other).all():
        return False
    with np.errstate(all="ignore"):
        return np.allclose(np.corrcoef(X.T), np.corrcoef(other.T), atol=1e-6, equal_nan=True)


def changed_file(path, rng):
    """One member of a file changed so that what it says is false or malformed."""
    with np.load(path, allow_pickle=False) as stored:
        members = {name: stored[name] for name in stored.files}
    harmless = ("constraint_", "stated_", "seconds")
    name = str(rng.choice([n for n in sorted(members) if not n.startswith(harmless)]))
    array = members[name]
    kind = rng.integers(4)
    if kind == 0:
        del members[name]
    elif kind == 1 and array.dtype.kind == "f" and array.size:
        members[name] = poisoned(array, rng)
    elif kind == 2 and array.dtype.kind in "fiub":
        members[name] = array.astype("complex64" if array.dtype.kind == "f" else "float32")
    else:
        members[name] = np.array("all is well") if array.ndim else array[None]
    np.savez(path, **members)


# ----------------------------------------------------------------------------- the trial


def outcome(check):
    """``"accepted"``, ``"refused"``, or the name of any other exception."""
    try:
        check()
    except CertificateError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


def trial(seed, folder, tool):
    """Outcomes of one forgery, in memory and through a file, by both verifiers."""
    group, place = divmod(seed, 4)
    if place == 3:
        return joint_trial(group, Path(folder), tool)
    return single_trial(3 * group + place, Path(folder), tool)


def single_trial(seed, folder, tool):
    """A forged certificate of one component, a first or a later one."""
    rng = np.random.default_rng([7, seed])
    certificate, X = made(int(rng.integers(FIRST_SLICED + 40)))
    certificate_data[id(certificate)] = X
    kind = seed % (len(FORGERIES) + 2)
    if kind == len(FORGERIES):
        return "other data", of_other_data(certificate, X, folder, tool, rng)
    if kind > len(FORGERIES):
        return "changed file", of_changed_file(certificate, X, folder, tool, rng)
    false, later = FORGERIES[kind](certificate, rng), certificate.earlier.count
    name = FORGERIES[kind].__name__ + (", later component" if later else "")
    return name, {} if false is None else outcomes(lambda: false, X, folder, tool)


def joint_trial(seed, folder, tool):
    """A forged certificate of several components together."""
    rng = np.random.default_rng([8, seed])
    joint, X = made_together(int(rng.integers(60)))
    kind = int(rng.integers(8))
    if kind == 0:
        return "joint, other data", of_other_data(joint, X, folder, tool, rng)
    if kind == 1:
        return "joint, changed file", of_changed_file(joint, X, folder, tool, rng)
    if not leaves_room(joint):
        return "joint", {}
    forgeries, theorem = list(object_forgeries(joint)), joint.claims[0].proof.theorem
    return f"joint, theorem {theorem}", outcomes(
        forgeries[rng.integers(len(forgeries))], X, folder, tool
    )


def outcomes(forge, data, folder, tool):
    """What becomes of a forgery in memory and, where it can be written, through a file."""
    found = {"verify": outcome(lambda: forge().verify(data))}
    try:
        forge().save(folder / "forged.npz")
    except Exception:
        # What cannot even be written deceives nobody.
        return found
    return found | by_file(folder / "forged.npz", data, tool, type(forge()))


def by_file(path, data, tool, kind):
    return {
        "file": outcome(lambda: kind.load(path).verify(data)),
        "stand-alone": "accepted" if tool.check(path, data)[0] else "refused",
    }


def of_other_data(certificate, X, folder, tool, rng):
    data = other_data(X, rng)
    if is_about_correlations(certificate) and same_correlations(X, data):
        # Another unit is no other data where every feature has its own.
        return {}
    return outcomes(lambda: certificate, data, folder, tool)


def of_changed_file(certificate, X, folder, tool, rng):
    path = folder / "forged.npz"
    certificate.save(path)
    changed_file(path, rng)
    return by_file(path, X, tool, type(certificate))


def main(count, first=0):
    tool, bad, tried, kinds = stand_alone(), 0, 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in itertools.count(first):
            if tried == count:
                break
            name, found = trial(seed, folder, tool)
            tried += bool(found)
            for how, what in found.items():
                kinds.setdefault(name, [0, 0])[what != "refused"] += 1
                if what != "refused":
                    bad += 1
                    print(f"seed {seed}, {name}, {how}: {what}", flush=True)
    for name, (refused, other) in sorted(kinds.items()):
        print(f"{name:<36}{refused:>6} refused{other:>6} not")
    print(f"{tried} forgeries, {bad} checks that did not refuse")
    return bad


if __name__ == "__main__":
    sys.exit(bool(main(*[int(word) for word in sys.argv[1:]] or [2000])))
