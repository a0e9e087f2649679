"""The road tests of 1974: eleven measurements of 32 cars."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
from sklearn.utils import Bunch

_ABOUT = (
    "32 cars of 1973-74 with eleven measurements each, as printed in Motor Trend and tabulated by "
    "Henderson & Velleman (1981). Measurements from a published table; no licence is stated for them."
)


def load_mtcars() -> Bunch:
    """Eleven measurements of 32 cars, a small table with strong groups of features.

    Fuel economy (miles per US gallon), cylinders, displacement (cubic inches), horsepower,
    rear axle ratio, weight (1000 lb), quarter mile time (seconds), shape of the engine
    (0 = V, 1 = straight), transmission (0 = automatic, 1 = manual), forward gears and
    carburettors. The units differ: use ``standardize=True``.

    Returns
    -------
    Bunch
        ``data`` of shape (32, 11), ``feature_names``, ``sample_names`` and ``DESCR``.

    Notes
    -----
    These are measurements from a published table; no licence is stated for them.

    References
    ----------
    Henderson, H. V., & Velleman, P. F. (1981). Building multiple regression models
    interactively. Biometrics, 37(2), 391-411. https://doi.org/10.2307/2530428

    Examples
    --------
    >>> from loadstone import SparsePCA
    >>> from loadstone.datasets import load_mtcars
    >>> cars = load_mtcars()
    >>> model = SparsePCA(n_nonzero=4, standardize=True).fit(cars.data)
    >>> [cars.feature_names[j] for j in model.components_[0].nonzero()[0]]
    ['mpg', 'cyl', 'disp', 'wt']
    """
    with (files("loadstone.datasets") / "mtcars.csv").open(encoding="utf-8") as lines:
        header, *rows = csv.reader(lines)
    return Bunch(
        data=np.array([row[1:] for row in rows], dtype=np.float64),
        feature_names=header[1:],
        sample_names=[row[0] for row in rows],
        DESCR=_ABOUT,
    )
