"""The result in one plain sentence."""

from __future__ import annotations

import math
from typing import Any

#: Correlations a sentence can list.
MAX_CORRELATIONS = 5


def headline_of(summary: dict[str, Any]) -> str:
    """Say how many components, features and how much variance, what is proven, what was allowed."""
    data, components = summary["data"], summary["components"]
    if not components:
        return "No component was found: nothing in the data stands out from the noise."
    count = len(components)
    parts = [
        f"{count} component{'s' if count > 1 else ''}",
        f"{grouped(data['n_features_used'])} of {grouped(data['n_features'])} features used",
        _recovered(summary, "recovers" if count == 1 else "recover"),
    ]
    sentence = ", ".join(part for part in parts if part)
    said = "; ".join(part for part in (sentence, _followed(summary), _proof(components)) if part)
    said = f"{said}."
    allowed = summary["constraint"]
    return said if allowed is None else f"{said} Allowed were {allowed}."


def _recovered(summary: dict[str, Any], verb: str) -> str:
    """What the components say of all features, beside PCA; and of held-out samples if that is known."""
    share = summary["components"][-1]["recovered_ratio"]
    if share is None:
        together = summary["components"][-1]["cumulative_ratio"]
        return "" if together is None else f"{percent(together)} of the variance"
    pca, held_out = summary["pca"], summary["held_out"]
    said = f"{verb} {percent(share)} of all features' variance"
    if pca is not None:
        said += f", PCA with as many components {percent(pca['recovered_ratio'][-1])}"
    if held_out is not None:
        recovered, plain = signed_percent(held_out["recovered"]), signed_percent(held_out["pca"])
        said += f" (of held-out samples {recovered}, PCA {plain})"
    return said


def _followed(summary: dict[str, Any]) -> str:
    """How closely the scores go with those of PCA."""
    pca = summary["pca"]
    if pca is None:
        return ""
    found = [entry["correlation"] for entry in pca["followed"]]
    if len(found) > MAX_CORRELATIONS:
        said = f"{correlation(min(found))} to {correlation(max(found))}"
    else:
        said = ", ".join(correlation(r) for r in found)
    return f"{'their' if len(found) > 1 else 'its'} scores correlate with PCA's by {said}"


def certificate_words(components: list[dict[str, Any]]) -> str:
    """The same as :func:`headline_of` says of proofs, for a small place; empty without any."""
    proven = [c["certificate"] for c in components if c["certificate"] is not None]
    if not proven:
        return ""
    best = "best possible" if all(c["is_optimal"] for c in proven) else None
    said = best or f"≥ {floor_percent(min(c['ratio'] for c in proven))} of the best"
    few = len(proven) < len(components)
    return f"{len(proven)} of {len(components)}: {said}" if few else said


def _proof(components: list[dict[str, Any]]) -> str:
    certificates = [component.get("certificate") for component in components]
    proven = [c for c in certificates if c is not None]
    if not proven:
        return ""
    if len(proven) < len(components):
        return f"{len(proven)} of {len(components)} come with a proof of how good they are"
    who = "each" if len(proven) > 1 else "it is"
    if all(c["is_optimal"] for c in proven):
        return f"{who} proven the best possible"
    gap = 1 - min(c["ratio"] for c in proven)
    # Rounded up: the sentence must not promise more than is proven.
    return f"{who} proven within {math.ceil(1000 * gap) / 10:g} % of the best possible"


def percent(ratio: float) -> str:
    """A share in whole per cent, or with one digit where that would say nothing."""
    value = 100 * ratio
    return f"{value:.0f} %" if value >= 10 else f"{value:.2g} %"


def signed_percent(ratio: float) -> str:
    """The same of a share that may be below zero: predictions can do harm."""
    return percent(ratio) if ratio >= 0 else f"-{percent(-ratio)}"


def correlation(r: float) -> str:
    """A correlation with two digits; one only where it is exact."""
    return f"{min(r, 0.99) if r < 0.9999 else 1:.2f}"


def floor_percent(ratio: float) -> str:
    """A proven share, rounded down: it must not promise more than is proven."""
    return f"{math.floor(1000 * ratio) / 10:g} %"


def grouped(number: int) -> str:
    """A whole number in groups of three digits, set apart by narrow spaces."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
