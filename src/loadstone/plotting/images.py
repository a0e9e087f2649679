"""Components as the images their features are pixels of."""

from __future__ import annotations

from typing import Any

import numpy as np

from loadstone.plotting.fitted import components_of, image_size
from loadstone.plotting.style import axes_or_new


def plot_images(
    estimator: Any,
    image_shape: tuple[int, int],
    components: Any = None,
    *,
    n_columns: int = 6,
    ax: Any = None,
) -> Any:
    """Draw components as images in a grid.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``components_``.
    image_shape : tuple of int
        Height and width; pixels are stored row by row.
    components : int or sequence of int, optional
        Which components, counted from 0; all by default.
    n_columns : int, default=6
        Images beside each other.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    chosen = components_of(estimator, components)
    V = np.asarray(estimator.components_, dtype=np.float64)[chosen]
    height, width = image_size(image_shape, V.shape[1])
    if n_columns < 1:
        msg = f"n_columns={n_columns} must be at least 1"
        raise ValueError(msg)
    if not chosen:
        msg = "there is no component to draw; ask for at least one"
        raise ValueError(msg)
    n_columns = min(n_columns, len(chosen))
    n_rows = -(-len(chosen) // n_columns)
    gap = max(1, width // 12)
    # NaN between the images shows as the paper underneath.
    sheet = np.full((n_rows * (height + gap) - gap, n_columns * (width + gap) - gap), np.nan)
    nonnegative = bool((V >= 0).all())
    for place, w in enumerate(V):
        row, column = divmod(place, n_columns)
        top, left = row * (height + gap), column * (width + gap)
        # Each image fills the range, since a loading's size depends on how many there are.
        sheet[top : top + height, left : left + width] = (w / (np.abs(w).max() or 1)).reshape(
            height, width
        )
    ax = axes_or_new(ax, (1.3 * n_columns + 0.4, 1.3 * n_rows * height / width + 0.5))
    ax.imshow(
        sheet,
        cmap="Greys" if nonnegative else "RdBu",
        vmin=0 if nonnegative else -1,
        vmax=1,
        interpolation="nearest",
    )
    for order, j in enumerate(chosen):
        row, column = divmod(order, n_columns)
        x, y = column * (width + gap) - 0.5, row * (height + gap) - 0.5
        ax.text(x, y, f"{j + 1}", va="bottom", ha="left", fontsize="small")
        ax.add_patch(_frame(x, y, width, height))
    ax.set_xlim(-1.5, sheet.shape[1] + 0.5)
    ax.set_ylim(sheet.shape[0] + 0.5, -1.5)
    ax.set_axis_off()
    return ax


def _frame(left: float, top: float, width: int, height: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((left, top), width, height, fill=False, edgecolor="#a0aec0", linewidth=0.6)
