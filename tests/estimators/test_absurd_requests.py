"""Work that nobody can want is refused at once, or cut to what there can be."""

import inspect
import warnings

import numpy as np
import pytest

from loadstone import NSPCA, ElasticNetPCA, SparsePCA, stability_selection
from loadstone.blas_threads import in_parallel
from loadstone.solvers import starts
from registry import estimators, small_data

#: Numbers of something, far beyond what any machine could do.
COUNTS = [
    "n_components",
    "n_nonzero",
    "n_features_to_select",
    "n_init",
    "n_penalties",
    "rank",
    "cv",
]
CASES = [
    pytest.param(cls, name, id=f"{cls.__name__}-{name}")
    for cls in estimators()
    for name in COUNTS
    if name in inspect.signature(cls).parameters
]
#: What makes the number count at all.
WITH = {"n_penalties": {"noise": "shared"}}


@pytest.mark.parametrize(("cls", "name"), CASES)
def test_a_billion_of_anything_is_a_sentence_or_what_there_can_be(cls, name):
    model = cls(**{name: 10**9, **WITH.get(name, {})})
    said = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            model.fit(small_data())
        except ValueError as error:
            said = str(error)
    # Published starts from the first component take no others, so that a number of them is idle.
    assert name in said or (
        name in {"n_components", "n_init", "rank"} and model.n_components_ <= 12
    )


@pytest.mark.parametrize("n_components", [13, 50, 10**9])
@pytest.mark.parametrize("n_nonzero", [None, 3, 0.5])
@pytest.mark.parametrize("cls", [NSPCA, ElasticNetPCA])
def test_joint_methods_find_no_more_components_than_features(cls, n_nonzero, n_components):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = cls(n_components, n_nonzero=n_nonzero, max_iter=20).fit(small_data())
    assert sum("fewer than asked for" in str(w.message) for w in caught) == 1
    assert 1 <= model.n_components_ <= 12
    assert (model.explained_variance_ > 0).all()


def test_a_block_of_starts_beyond_memory_is_refused_before_it_is_drawn(monkeypatch):
    monkeypatch.setattr(starts, "memory_limit", lambda: 1000)
    with pytest.raises(MemoryError, match="n_components=2 with 12 features takes blocks of"):
        NSPCA(2).fit(small_data())


def test_a_huge_ridge_leaves_the_components():
    near, far = (ElasticNetPCA(2, n_nonzero=3, ridge=r).fit(small_data()) for r in (1e9, 1e300))
    assert far.n_components_ == 2
    np.testing.assert_allclose(near.explained_variance_, far.explained_variance_, rtol=1e-6)


def test_subsamples_and_processes_have_limits():
    model = SparsePCA(n_nonzero=2, effort="fast")
    with pytest.raises(ValueError, match="n_subsamples=1000000000 must be between 1 and"):
        stability_selection(model, small_data(), n_subsamples=10**9)
    with pytest.raises(ValueError, match="n_jobs=1000000000"):
        list(in_parallel(abs, [(1,)], 10**9))


def test_no_more_false_features_are_expected_than_there_are():
    found = stability_selection(SparsePCA(n_nonzero=None), small_data(), n_subsamples=4)
    assert found.n_chosen == 12
    assert found.max_false == 12
