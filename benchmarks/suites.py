"""What is compared with what: cases and methods, and what others have published."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.rivals import NONNEGATIVE, ONE_COMPONENT, ORTHOGONAL
from benchmarks.runner import Array, Suite, Task
from experiments import data
from loadstone import datasets


@cache
def pit_props() -> Array:
    """Data with exactly the correlation matrix of the pit props, for methods that want data."""
    values, vectors = np.linalg.eigh(data.pitprops())
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((180, len(values)))
    Q = np.linalg.qr(raw - raw.mean(axis=0))[0]
    return np.asarray(np.sqrt(179) * (Q * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


@cache
def mtcars() -> Array:
    """32 cars, 11 features of unit variance."""
    return data.standardised(datasets.load_mtcars().data)


@cache
def nci60() -> Array:
    """64 tumours, 6830 genes, centred."""
    X = np.asarray(datasets.fetch_nci60().data, dtype=np.float64)
    return np.asarray(X - X.mean(axis=0))


@cache
def spectra() -> Array:
    """531 spectra in 93 bands of unit variance."""
    return data.standardised(data.spectra_raw())


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="one_component",
            methods=ONE_COMPONENT,
            cases=(
                ("pit props", pit_props, Task(n_nonzero=4)),
                ("pit props", pit_props, Task(n_nonzero=7)),
                ("spectra, standardised", spectra, Task(n_nonzero=10)),
                ("faces, standardised", data.faces_standardised, Task(n_nonzero=10)),
                ("faces, standardised", data.faces_standardised, Task(n_nonzero=50)),
                ("NCI60", nci60, Task(n_nonzero=10)),
                ("NCI60", nci60, Task(n_nonzero=100)),
                ("leukemia, standardised", data.leukemia_standardised, Task(n_nonzero=10)),
                ("leukemia, standardised", data.leukemia_standardised, Task(n_nonzero=100)),
            ),
        ),
        Suite(
            name="nonnegative",
            methods=NONNEGATIVE,
            cases=(
                ("faces off PC1", data.faces_off_first, Task(n_nonzero=20, nonnegative=True)),
                ("faces off PC1", data.faces_off_first, Task(n_nonzero=100, nonnegative=True)),
                ("leukemia", data.leukemia_raw, Task(n_nonzero=50, nonnegative=True)),
            ),
        ),
        Suite(
            name="orthogonal",
            methods=ORTHOGONAL,
            cases=(
                ("pit props", pit_props, Task(n_components=6, n_nonzero=4)),
                ("mtcars", mtcars, Task(n_components=3, n_nonzero=4)),
            ),
        ),
    )
}
