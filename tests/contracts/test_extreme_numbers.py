"""New data at the end of the range of numbers, with holes nobody has looked for, and odd whole numbers."""

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from registry import small_data, subjects

COMPONENTS = subjects("reconstruct")
dask_array = pytest.importorskip("dask.array", reason="dask is not installed")


@cache
def fitted(subject):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(subject).fit(small_data())


def quiet(call):
    """The value of a call, or what it was refused with; any warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.asarray(call())
        except ValueError as error:
            return str(error)


@pytest.mark.parametrize("subject", subjects())
@pytest.mark.parametrize("size", [1e155, 1.7e308])
def test_new_data_out_of_range_gives_numbers_or_a_sentence(subject, size):
    model = fitted(subject)
    X = small_data(3)
    X = X / np.abs(X).max() * size
    before = X.copy()
    for method in ("transform", "reconstruct", "score", "score_samples"):
        if hasattr(model, method):
            found = quiet(lambda method=method: getattr(model, method)(X))
            if isinstance(found, str):
                assert "overflow" in found, (method, found)
            else:
                assert np.isfinite(found).all(), method
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("subject", COMPONENTS)
def test_the_way_back_is_from_numbers_and_to_numbers(subject):
    model = fitted(subject)
    n = model.n_components_
    for value in (np.nan, np.inf):
        scores = np.zeros((3, n))
        scores[1, 0] = value
        said = quiet(lambda scores=scores: model.inverse_transform(scores))
        assert said == (
            "scores hold NaN or infinity in 1 row(s), the first of them row 1; "
            "pass what transform returned"
        )
    found = quiet(lambda: model.inverse_transform(np.full((3, n), 1.7e308)))
    assert "overflow" in str(found) or np.isfinite(found).all()
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.inverse_transform(np.zeros((3, n), dtype=complex))
    assert model.inverse_transform(np.zeros((0, n))).shape == (0, 12)


@pytest.mark.parametrize("subject", COMPONENTS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("container", ["mapped", "dask"])
def test_holes_in_mapped_files_and_chunks_are_refused_as_in_memory(
    subject, value, container, tmp_path
):
    model = fitted(subject)
    X = small_data(3)
    # A whole row: a component need not have a loading on any one feature.
    X[2] = value
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    given = mapped if container == "mapped" else dask_array.from_array(X, chunks=(10, 12))
    for method in ("transform", "reconstruct", "score"):
        in_memory = quiet(lambda method=method: getattr(model, method)(X))
        found = quiet(lambda method=method: getattr(model, method)(given))
        if isinstance(in_memory, str):
            assert isinstance(found, str), (method, found)
            assert any(words in found for words in ("contains NaN", "overflow")), (method, found)
        elif container == "mapped":
            np.testing.assert_allclose(found, in_memory, atol=1e-10)


@pytest.mark.parametrize("subject", subjects())
def test_small_whole_numbers_of_numpy_are_whole_numbers(subject):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40)) + rng.normal(size=(60, 40))
    given = {
        name: np.int8(value)
        for name, value in subject.get_params(deep=False).items()
        if type(value) is int and value <= 100
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = clone(subject).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        found = clone(subject).set_params(**given).fit(X)
    name = "scores_" if hasattr(subject, "n_features_to_select") else "components_"
    np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
