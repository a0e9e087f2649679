"""Certificates and paths in the words of a report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loadstone.plotting.fitted import pca_variance_of, upper_bounds_of
from loadstone.report.headline import floor_percent

#: Features named for each size of a path; the slider shows them.
MAX_NAMED = 60


def certificate_summaries(estimator: Any) -> list[dict[str, Any] | None]:
    """What is proven about each component, ``None`` where nothing is."""
    n = estimator.components_.shape[0]
    bounds = upper_bounds_of(estimator)
    if bounds is None:
        return [None] * n
    certificates = getattr(estimator, "certificates_", None) or [None] * n
    values = getattr(estimator, "marginal_variance_", estimator.explained_variance_)
    return [
        _certificate(certificates[j] if j < len(certificates) else None, bounds, values, j)
        for j in range(n)
    ]


def _certificate(certificate: Any, bounds: Any, values: Any, j: int) -> dict[str, Any] | None:
    bound = float(getattr(certificate, "upper_bound", bounds[j] if j < len(bounds) else math.nan))
    value = float(getattr(certificate, "value", values[j]))
    if not math.isfinite(bound) or bound <= 0:
        return None
    ratio = min(value / bound, 1.0)
    return {
        "value": value,
        "upper_bound": bound,
        "ratio": ratio,
        "is_optimal": bool(getattr(certificate, "is_optimal", ratio >= 1 - 1e-9)),
        "sentence": _sentence(certificate, ratio),
    }


def _sentence(certificate: Any, ratio: float) -> str:
    if certificate is not None:
        return str(certificate)
    return f"proven to reach at least {floor_percent(ratio)} of the best possible"


def joint_summary(estimator: Any) -> dict[str, Any] | None:
    """What is proven about all components together, ``None`` where nobody asked."""
    joint = vars(estimator).get("joint_certificate_")
    return None if joint is None else joint_as_json(joint)


def joint_as_json(joint: Any) -> dict[str, Any]:
    """A joint certificate in plain values: its sentence, and each of its claims."""
    return {
        "sentence": str(joint),
        "relation": joint.relation,
        "claims": [
            {
                "quantity": claim.quantity,
                "component": None if claim.component is None else claim.component + 1,
                "value": float(claim.value),
                "upper_bound": float(claim.upper_bound),
                "ratio": float(claim.ratio),
                "is_optimal": bool(claim.is_optimal),
                "sentence": sentence,
            }
            for claim, sentence in zip(joint.claims, joint.sentences(), strict=False)
        ],
    }


def path_summary(path: Any, names: Any) -> dict[str, Any]:
    """The variance over the number of features, with the names that are chosen."""
    sizes = [int(k) for k in path.n_nonzeros]
    values = [float(v) for v in path.values]
    bounds = upper_bounds_of(path)
    pca = pca_variance_of(path)
    supports = getattr(path, "supports", None)
    recovered = getattr(path, "recovered", None)
    return {
        "n_nonzeros": sizes,
        "values": values,
        "pca_variance": pca,
        "recovered": None if recovered is None else [float(share) for share in recovered],
        "pca_recovered": None if recovered is None else float(path.pca_recovered),
        "upper_bounds": None
        if bounds is None
        else [float(b) if math.isfinite(b) else None for b in bounds],
        "features": None if supports is None else [_named(s, names) for s in supports],
    }


def _named(support: Any, names: Any) -> list[str]:
    support = np.asarray(support)
    indices = np.flatnonzero(support) if support.dtype == bool else support
    return [str(names[i]) for i in indices[:MAX_NAMED]]
