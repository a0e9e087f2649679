"""Noise models of wide data: fitted on a working set, and priced by all features."""

import dask.array as da
import numpy as np
import pytest

from loadstone import SparseNoisyPCA
from loadstone.covariance import working_set
from passes.counting import planted

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch):
    monkeypatch.setattr(working_set, "FIRST_SIZE", 64)


def test_the_criterion_counts_features_that_nobody_looked_at():
    X = planted(40, 900)
    X[:, 5] = 2.0
    model = SparseNoisyPCA(2, noise="shared", route="wide").fit(da.from_array(X, chunks=(40, 300)))
    assert model.looked_at_["n_features"] < 800
    n, places = 40, 899 * model.n_components_
    assert model.penalty_ == pytest.approx((np.log(n) + 2 * np.log(places)) / n, rel=1e-12)


def test_the_published_path_counts_them_too():
    X = planted(40, 900)
    model = SparseNoisyPCA(2, noise="shared", penalty="ebic", n_penalties=4, route="wide")
    model.fit(da.from_array(X, chunks=(40, 300)))
    table = model.criterion_
    assert model.looked_at_["n_features"] < 800
    alive = table["n_components"] > 0
    places = 900 * table["n_components"][alive].astype(float)
    extra = table["ebic"][alive] - table["bic"][alive]
    np.testing.assert_allclose(extra, 2 * table["n_nonzero"][alive] * np.log(places) / 40)
