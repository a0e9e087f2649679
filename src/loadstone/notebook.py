"""Loadings as a notebook shows them: small bars with names, in HTML without scripts."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np

from loadstone.loadings import FITS_ANYTHING

#: Components shown, and loadings of each.
MAX_COMPONENTS = 6
MAX_BARS = 8
#: Readable on white and on black.
POSITIVE, NEGATIVE = "#4a86c5", "#cc6b2c"

_BOX = "display:flex;flex-wrap:wrap;gap:1.2em;margin:.3em 0 .6em;font-size:.9em"
_BAR = "display:inline-block;height:.8em;border-radius:2px"
_NAME = "max-width:14em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;text-align:left"
_CELL = "padding:0 .4em;border:0;background:none;text-align:left"


def with_loadings(shown: str, fitted: Mapping[str, Any]) -> str:
    """The diagram of an estimator, below the loadings of its fit where there is one.

    Parameters
    ----------
    shown : str
        HTML that scikit-learn makes of the parameters.
    fitted : mapping
        The attributes of the estimator.

    Returns
    -------
    str
        HTML in which every name is escaped.
    """
    components = fitted.get("components_")
    if components is None or len(components) == 0:
        return shown
    names = fitted.get("feature_names_in_", [f"x{i}" for i in range(components.shape[1])])
    cards = [_card(j, w, names) for j, w in enumerate(components[:MAX_COMPONENTS])]
    more = len(components) - len(cards)
    rest = f"<div>and {more} more in <code>loadings_table()</code></div>" if more > 0 else ""
    style = "@media print{.loadstone-loadings{break-inside:avoid}}"
    head = f"<div>{_sentence(components, fitted)}</div>"
    bars = f'<div style="{_BOX}">{"".join(cards)}{rest}</div>'
    return f'<style>{style}</style><div class="loadstone-loadings">{head}{bars}</div>{shown}'


def _sentence(components: Any, fitted: Mapping[str, Any]) -> str:
    used = int(np.any(components != 0, axis=0).sum())
    n = len(components)
    said = f"{n} component{'s' if n > 1 else ''}, {used} of {components.shape[1]} features used"
    recovered = fitted.get("recovered_variance_ratio_")
    if recovered is None or not np.isfinite(recovered[-1]):
        return f"{said}."
    verb = "recover" if n > 1 else "recovers"
    share = f"{said}, {verb} {100 * float(recovered[-1]):.3g} % of all features' variance"
    places, n_samples = int(np.count_nonzero(components)), fitted.get("n_samples_", np.nan)
    if not places > FITS_ANYTHING * n_samples:
        return f"{share}."
    return (
        f"{share} in sample, which {places} loadings fit to {n_samples:g} samples flatter; "
        "<code>cross_validated_recovery(model, X)</code> tells the share of samples held out."
    )


def _card(j: int, w: Any, names: Any) -> str:
    """One component: its largest loadings as a table of names, bars and numbers."""
    size = np.abs(np.asarray(w, dtype=np.float64))
    support = np.flatnonzero(size)
    ranked = support[np.argsort(-size[support], kind="stable")]
    rows = "".join(_row(str(names[i]), float(w[i]), size.max()) for i in ranked[:MAX_BARS])
    more = ranked.size - MAX_BARS
    if more > 0:
        rows += (
            f'<tr style="background:none"><td style="{_CELL}" colspan="3">and {more} more</td></tr>'
        )
    title = f'<caption style="text-align:left;font-weight:600">Component {j + 1}</caption>'
    return f'<table style="border-collapse:collapse;margin:0">{title}{rows}</table>'


def _row(name: str, loading: float, largest: float) -> str:
    width = 6 * abs(loading) / largest
    colour = POSITIVE if loading > 0 else NEGATIVE
    bar = f'<span style="{_BAR};width:{width:.2f}em;background:{colour}"></span>'
    said = html.escape(name, quote=True)
    return (
        f'<tr style="background:none"><td style="{_CELL};{_NAME}" title="{said}">{said}</td>'
        f'<td style="{_CELL};min-width:6em">{bar}</td>'
        f'<td style="{_CELL};text-align:right">{loading:.3f}</td></tr>'
    )
