"""Which route is taken, how often data is read, and what stays out of memory."""

import dask
import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from loadstone import EMPCA, SparsePCA
from loadstone.covariance import DataCovariance, ExplicitCovariance, covariance_of, materialise
from loadstone.covariance.containers import rows_of
from loadstone.covariance.route import choose_route


def test_wide_data_never_makes_a_square_matrix():
    S, _ = covariance_of(np.random.default_rng(0).standard_normal((5, 40)))
    assert isinstance(S, DataCovariance)
    S, _ = covariance_of(np.random.default_rng(0).standard_normal((40, 5)))
    assert isinstance(S, ExplicitCovariance)


def test_few_products_on_many_features_stay_on_the_data():
    rows = rows_of(np.empty((5000, 2000)))
    assert choose_route(rows, "auto", n_products=30) == "data"
    assert choose_route(rows, "auto", n_products=3000) == "gram"
    assert choose_route(rows, "data", n_products=3000) == "data"


def test_materialise_says_the_size_and_the_way_out():
    S, _ = covariance_of(np.random.default_rng(0).standard_normal((5, 40)))
    np.testing.assert_allclose(materialise(S).matrix, S @ np.eye(40), atol=1e-12)
    with pytest.raises(MemoryError, match="40 features"):
        materialise(S, max_bytes=100)


def counted(X, n_blocks):
    """A Dask array that counts how often its blocks are read."""
    reads = []

    def read(block):
        reads.append(block.shape)
        return block

    def count():
        return len(reads) / n_blocks

    pieces = [
        da.from_delayed(dask.delayed(read)(part), part.shape, dtype=X.dtype)
        for part in np.array_split(X, n_blocks)
    ]
    return da.concatenate(pieces), count


#: Passes over the data stated in docs/large_data.md; one more is a regression.
GRAM_PASSES = 1.34
DATA_PASSES = {EMPCA: 45, SparsePCA: 60}


@pytest.mark.parametrize("cls", [EMPCA, SparsePCA])
def test_gram_route_reads_out_of_core_data_once(cls):
    X, passes = counted(np.random.default_rng(0).standard_normal((90, 20)), n_blocks=3)
    with dask.config.set(scheduler="threads"):
        cls(3, n_nonzero=5).fit(X)
    # One pass for the Gram matrix, and one block more for a first guess of the mean.
    assert passes() <= GRAM_PASSES


@pytest.mark.parametrize("cls", [EMPCA, SparsePCA])
def test_data_route_reads_out_of_core_data_a_bounded_number_of_times(cls):
    X, passes = counted(np.random.default_rng(0).standard_normal((30, 200)), n_blocks=3)
    with dask.config.set(scheduler="threads"):
        cls(1, n_nonzero=10).fit(X)
    assert passes() <= DATA_PASSES[cls]


def test_transform_of_a_dask_array_is_lazy():
    data = np.random.default_rng(0).standard_normal((90, 20))
    X, passes = counted(data, n_blocks=3)
    model = SparsePCA(2, n_nonzero=5).fit(data)
    scores = model.transform(X)
    assert passes() == 0
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), model.transform(data))
    back = model.inverse_transform(scores)
    np.testing.assert_allclose(back.compute(), model.inverse_transform(model.transform(data)))


def test_distributed_cluster_gives_the_same():
    distributed = pytest.importorskip("distributed", reason="the dask extra brings the cluster")
    data = np.random.default_rng(0).standard_normal((60, 12))
    reference = SparsePCA(2, n_nonzero=4).fit(data)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        model = SparsePCA(2, n_nonzero=4).fit(da.from_array(data, chunks=(20, 12)))
    np.testing.assert_allclose(model.components_, reference.components_, atol=1e-10)


def test_unknown_chunks_say_what_to_do():
    X = da.from_array(np.random.default_rng(0).standard_normal((20, 4)), chunks=(5, 4))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        SparsePCA().fit(X[X[:, 0] > 0])


class NoDense(sparse.csr_array):
    """Sparse data that may show a few columns, and refuses to be made dense as a whole."""

    def toarray(self, *args, **kwargs):
        assert self.shape[1] <= 50, "densified"
        return super().toarray(*args, **kwargs)


def test_sparse_data_is_never_made_dense():
    X = sparse.random_array((60, 400), density=0.2, rng=0)
    model = SparsePCA(2, n_nonzero=5, nonnegative=True).fit(NoDense(X))
    reference = SparsePCA(2, n_nonzero=5, nonnegative=True).fit(X.toarray())
    np.testing.assert_allclose(model.explained_variance_, reference.explained_variance_, rtol=1e-9)
