"""Everything a report shows, as a dictionary that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from loadstone._version import __version__
from loadstone.constraints import Constraint
from loadstone.estimators.projection import groups_of
from loadstone.plotting.fitted import ranked_features
from loadstone.plotting.overlap import support_overlap
from loadstone.report.evidence import certificate_summaries, joint_summary, path_summary
from loadstone.report.facts import MAX_SAMPLES, Facts, gather
from loadstone.report.headline import headline_of, signed_percent
from loadstone.selection.held_out import N_FOLDS, cross_validated_recovery, fits_anything

#: Loadings per component that are listed; what is left out is said.
MAX_LOADINGS = 1000


def summarise(
    estimator: Any,
    X: Any = None,
    labels: Any = None,
    feature_names: Any = None,
    path: Any = None,
    *,
    sample_names: Any = None,
    title: str | None = None,
    notes: Any = (),
    sample_weight: Any = None,
) -> dict[str, Any]:
    """Collect what is known about fitted components.

    Parameters
    ----------
    estimator : fitted estimator
        Any estimator of loadstone.
    X : array-like of shape (n_samples, n_features), optional
        The data it was fitted to: adds scores and the comparison with PCA. A
        :class:`SampleCovariance` has no samples, and so no scores.
    labels : array-like of shape (n_samples,), optional
        Classes of the samples.
    feature_names : array-like of str, optional
        Names to show; by default those seen in ``fit``.
    path : CardinalityPath, optional
        Adds the variance over the number of features.
    sample_names : array-like of str, optional
        Names of the rows of ``X``; by default those that a frame of pandas has for them.
    title : str, optional
        Title of the report.
    notes : sequence of str
        Sentences on how the data came about.
    sample_weight : array-like of shape (n_samples,), optional
        The weights it was fitted with.

    Returns
    -------
    dict
        Of plain Python values: ``json.dumps`` takes it as it is.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SparsePCA, summarise
    >>> wine = load_wine(as_frame=True)
    >>> model = SparsePCA(2, n_nonzero=3, standardize=True).fit(wine.data)
    >>> summarise(model)["headline"]
    "2 components, 6 of 13 features used, recover 50 % of all features' variance."
    """
    facts = gather(
        estimator,
        X,
        labels,
        feature_names,
        path,
        sample_names=sample_names,
        sample_weight=sample_weight,
    )
    return summary_of(facts, title, notes)


def _listed(notes: Any) -> list[Any]:
    """Sentences to show; a single one is one of them."""
    if notes is None or isinstance(notes, str):
        return [notes] if notes else []
    if not isinstance(notes, Iterable):
        msg = f"notes={notes!r} is a {type(notes).__name__}; give sentences, as a list of text"
        raise TypeError(msg)
    return list(notes)


def summary_of(facts: Facts, title: str | None = None, notes: Any = ()) -> dict[str, Any]:
    """The same from what was gathered."""
    estimator, rows = facts.estimator, facts.rows
    notes = _listed(notes)
    parameters = estimator.get_params(deep=False)
    constraint = parameters.get("constraint")
    summary = {
        "loadstone_version": __version__,
        "title": title or "Sparse principal components",
        "method": type(estimator).__name__,
        "parameters": {k: _typed(v) for k, v in parameters.items()},
        "constraint": None if constraint is None else constraint.describe(),
        "data": _data(facts),
        "components": _components(estimator, facts.names, notes),
        "pca": _pca(facts),
        "held_out": _held_out(facts, notes),
        "overlap": support_overlap(estimator).tolist(),
        "scores": None if rows is None else _scores(facts, notes),
        "path": None if facts.path is None else path_summary(facts.path, facts.names),
    }
    certificates = certificate_summaries(estimator)
    for component, certificate in zip(summary["components"], certificates, strict=True):
        component["certificate"] = certificate
    summary["joint"] = joint_summary(estimator)
    summary["headline"] = headline_of(summary)
    summary["notes"] = notes
    return summary


def _data(facts: Facts) -> dict[str, Any]:
    estimator = facts.estimator
    # A Dask frame may not know how many rows it has; their scores do.
    known = getattr(estimator, "n_samples_", float("nan"))
    n_samples = known if facts.rows is None else facts.scores.shape[0]
    return {
        "n_samples": plain_number(n_samples),
        "n_features": int(estimator.n_features_in_),
        "n_features_used": int(np.any(estimator.components_ != 0, axis=0).sum()),
        "standardized": getattr(estimator, "scale_", None) is not None,
        "total_variance": plain_number(getattr(estimator, "total_variance_", float("nan"))),
    }


def _components(estimator: Any, names: Any, notes: list[str]) -> list[dict[str, Any]]:
    ratios = np.asarray(estimator.explained_variance_ratio_, dtype=np.float64)
    # Models saved by the first release do not know it.
    recovered = vars(estimator).get("recovered_variance_ratio_", np.full(ratios.size, np.nan))
    marginal = getattr(estimator, "marginal_variance_", estimator.explained_variance_)
    stops = getattr(estimator, "stop_reason_", None)
    groups = groups_of(estimator)
    components = []
    for j, w in enumerate(estimator.components_):
        ranked = ranked_features(w)
        if ranked.size > MAX_LOADINGS:
            notes.append(
                f"Component {j + 1} has {ranked.size} non-zero loadings; "
                f"the largest {MAX_LOADINGS} are listed."
            )
        components.append(
            {
                "component": j + 1,
                "n_nonzero": int(ranked.size),
                "explained_variance_ratio": plain_number(ratios[j]),
                "cumulative_ratio": plain_number(ratios[: j + 1].sum()),
                "recovered_ratio": plain_number(recovered[j]),
                "explained_variance": plain_number(estimator.explained_variance_[j]),
                "marginal_variance": plain_number(marginal[j]),
                "stop_reason": _stop_reason(stops, j),
                "loadings": [
                    {"feature": str(names[i]), "loading": plain_number(w[i])}
                    | ({} if groups is None else {"group": str(groups[i])})
                    for i in ranked[:MAX_LOADINGS]
                ],
            }
        )
    return components


def _pca(facts: Facts) -> dict[str, Any] | None:
    """What plain PCA reaches, and how closely it is followed, where the data is complete."""
    if facts.pca is None or facts.pca_correlations is None:
        return None
    estimator, variances = facts.estimator, facts.pca[0]
    total = float(estimator.total_variance_)
    ratio = variances / total if total > 0 else np.zeros_like(variances)
    reached = float(np.sum(estimator.explained_variance_))
    return {
        "explained_variance_ratio": [plain_number(v) for v in ratio],
        "recovered_ratio": [plain_number(v) for v in np.cumsum(ratio)],
        "share_reached": plain_number(reached / variances.sum()) if variances.sum() > 0 else None,
        "correlation": [[plain_number(r) for r in row] for row in facts.pca_correlations],
        "followed": [
            {"component": match + 1, "correlation": plain_number(abs(row[match]))}
            for row, match in zip(facts.pca_correlations, facts.matches, strict=True)
        ],
    }


def _held_out(facts: Facts, notes: list[str]) -> dict[str, Any] | None:
    """What is recovered of held-out samples, where what is recovered in sample says little."""
    estimator, rows = facts.estimator, facts.rows
    if not fits_anything(estimator):
        return None
    used, n = int(estimator.cardinality_.sum()), estimator.n_samples_
    flattered = (
        f"The components use {used} features and there are {n:g} samples: what they recover of these "
        "is flattered."
    )
    n_folds = 0 if rows is None else min(N_FOLDS, facts.scores.shape[0] // 2)
    try:
        found = None
        if n_folds > 1:
            found = cross_validated_recovery(
                estimator, rows, cv=n_folds, sample_weight=facts.sample_weight
            )
    except (TypeError, ValueError):
        # Missing values, folds in which nothing varies, rows that are not in memory.
        found = None
    if found is None:
        notes.append(f"{flattered} How much they recover of other samples could not be measured.")
        return None
    notes.append(
        f"{flattered} Of samples held out of the fit, one of {n_folds} parts at a time, they recover "
        f"{signed_percent(found.recovered[-1])} of the variance, PCA {signed_percent(found.pca[-1])}."
    )
    return {
        "recovered": plain_number(found.recovered[-1]),
        "pca": plain_number(found.pca[-1]),
        "n_folds": n_folds,
    }


def _scores(facts: Facts, notes: list[str]) -> dict[str, Any]:
    rows, n, names = facts.drawn, facts.scores.shape[0], facts.sample_names
    if n > MAX_SAMPLES:
        notes.append(f"The scores of {MAX_SAMPLES} of {n} samples are drawn, evenly spaced.")
    return {
        "values": [[_short(v) for v in row] for row in facts.scores[rows].tolist()],
        "labels": None if facts.labels is None else [facts.labels[i] for i in rows],
        "names": [str(i + 1) for i in rows] if names is None else [names[i] for i in rows],
    }


def plain_number(value: Any) -> float | int | None:
    """A number for JSON; ``None`` where there is none."""
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _short(value: float) -> float | None:
    """Six digits are more than a picture shows, and keep the file small."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _typed(value: Any) -> Any:
    """A parameter as JSON can hold it: numbers, booleans, null, lists of these, or text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [_typed(entry) for entry in value]
    text = value.describe() if isinstance(value, Constraint) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _stop_reason(stops: Any, j: int) -> str | None:
    """Why the search of a component ended; a joint search has one reason for all."""
    if isinstance(stops, list | tuple):
        stops = stops[j] if j < len(stops) else stops[0] if stops else None
    return None if stops is None else str(stops)
