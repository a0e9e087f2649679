"""What a fit left behind, and where two fits differ."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np

#: How a search went, which rounding may change, and not what it found.
TRACE = {
    "n_iter_",
    "objective_",
    "predicted_costs_",
    "n_candidates_",
    "log_likelihoods_",
    "lower_bounds_",
    "refit_lower_bounds_",
}
#: Defined up to the signs of eigenvectors.
UP_TO_SIGNS = {"low_rank_factors_", "directions_", "first_component_"}
#: Models and proofs that carry their own traces; their results are attributes as well.
RECORDS = {"path_", "certificates_", "joint_certificate_"}
#: The answer of a fit: everything else.
NOT_THE_ANSWER = TRACE | UP_TO_SIGNS | RECORDS


def state(model):
    """All attributes a fit has set."""
    return {n: v for n, v in vars(model).items() if n.endswith("_") and not n.startswith("_")}


def answer(model):
    """What a fit found, without how."""
    return {name: value for name, value in state(model).items() if name not in NOT_THE_ANSWER}


#: Entries below this are rounding of a zero: gaps of proven components, angles of orthogonal ones.
UNIT = 1e-3


def differences(a, b, tol=0.0, where=""):
    """Where two values differ by more than ``tol`` of the largest entry; no type is confused."""
    if isinstance(a, dict) and isinstance(b, dict):
        if set(a) != set(b):
            return [f"{where}: {sorted(set(a) ^ set(b))}"]
        return [d for name in a for d in differences(a[name], b[name], tol, f"{where}.{name}")]
    if isinstance(a, list | tuple) and type(a) is type(b):
        if len(a) != len(b):
            return [f"{where}: {len(a)} and {len(b)} entries"]
        pairs = enumerate(zip(a, b, strict=True))
        return [d for i, (x, y) in pairs for d in differences(x, y, tol, f"{where}[{i}]")]
    if is_dataclass(a) and type(a) is type(b):
        # Certificates say how long they took.
        names = [f.name for f in fields(a) if f.name != "seconds"]
        parts = [{name: getattr(value, name) for name in names} for value in (a, b)]
        return differences(*parts, tol, where)
    return [] if _same_leaf(a, b, tol) else [f"{where}: {a!r} and {b!r}"]


def _same_leaf(a, b, tol):
    numbers = (np.ndarray, float, np.floating)
    if isinstance(a, numbers) and isinstance(b, numbers):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or (tol == 0 and a.dtype != b.dtype):
            return False
        if tol == 0 or a.dtype.kind not in "f" or a.size == 0:
            return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        finite = np.isfinite(a)
        largest = np.abs(a[finite]).max(initial=UNIT)
        return np.array_equal(a[~finite], b[~finite], equal_nan=True) and np.allclose(
            a[finite], b[finite], rtol=tol, atol=tol * largest
        )
    return type(a) is type(b) and a == b
