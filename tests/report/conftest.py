"""Models and paths to report on."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_wine

from loadstone import SparsePCA

NASTY = "<script>window.hit=1</script>\"'&</script><!--"


@pytest.fixture(scope="session")
def wine():
    return load_wine(as_frame=True)


@pytest.fixture(scope="session")
def model(wine):
    return SparsePCA(3, n_nonzero=5, standardize=True).fit(wine.data)


@pytest.fixture(scope="session")
def path(wine):
    """What a cardinality path looks like to the report."""
    sizes = np.array([1, 2, 3, 5, 8, 13])
    fits = [SparsePCA(n_nonzero=int(k), standardize=True).fit(wine.data) for k in sizes]
    values = np.array([fit.explained_variance_[0] for fit in fits])
    return SimpleNamespace(
        n_nonzeros=sizes,
        values=values,
        ratio=values / values[-1],
        bounds=np.append(1.02 * values[:-1], np.nan),
        supports=[np.flatnonzero(fit.components_[0]) for fit in fits],
    )


@pytest.fixture(scope="session")
def nasty_names():
    return [NASTY, *(f"feature {i}" for i in range(1, 13))]
