"""The pit props table: thirteen measurements of 180 pieces of timber."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

_NAMES = (
    "topdiam length moist testsg ovensg ringtop ringbut bowmax bowdist whorls clear knots diaknot"
)
#: Correlations below the diagonal in thousandths, row by row, as published.
_BELOW_DIAGONAL = """
954
364 297
342 284 882
-129 -118 -148 220
313 291 153 381 364
496 503 -29 174 296 813
424 419 -54 -59 4 90 372
592 648 125 137 -39 211 465 482
545 569 -81 -14 37 274 679 557 526
84 76 162 97 -91 -36 -113 61 85 -319
-19 -36 220 169 -145 24 -232 -357 -127 -368 29
134 144 126 15 -208 -329 -424 -202 -76 -291 7 184
"""


def load_pitprops() -> Bunch:
    """Correlations of thirteen measurements of pit props, the classic of sparse PCA.

    Returns
    -------
    Bunch
        ``correlation`` of shape (13, 13), ``feature_names`` and ``n_samples`` (180).

    References
    ----------
    Jeffers, J. N. R. (1967). Two case studies in the application of principal component
    analysis. Applied Statistics, 16(3), 225-236. https://doi.org/10.2307/2985919

    Examples
    --------
    >>> from loadstone import SparsePCA
    >>> from loadstone.datasets import load_pitprops
    >>> pitprops = load_pitprops()
    >>> model = SparsePCA(n_nonzero=5).fit_covariance(pitprops.correlation)
    >>> float(model.explained_variance_[0].round(3))
    3.406
    """
    names = _NAMES.split()
    correlation = np.eye(len(names))
    below = np.tril_indices(len(names), -1)
    correlation[below] = np.array(_BELOW_DIAGONAL.split(), dtype=np.float64) / 1000
    correlation.T[below] = correlation[below]
    return Bunch(correlation=correlation, feature_names=names, n_samples=180)
