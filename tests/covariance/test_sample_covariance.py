"""SampleCovariance against two-pass formulas in extended precision."""

import json
from fractions import Fraction

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import registry
from loadstone import SampleCovariance
from loadstone.covariance import scatter
from loadstone.covariance.containers import rows_of
from loadstone.covariance.lost_digits import MAX_ROUNDING, LostDigitsError
from loadstone.covariance.sample_file import CovarianceFileError, is_sample_file

OFFSETS = [0.0, 1.0, 1e2, 1e4, 1e6, 1e8]


def two_passes(X, w=None):
    """Sum of weights, mean and scatter; with 64 bits of mantissa, about the first row first."""
    X = np.asarray(X, dtype=np.longdouble)
    w = np.ones(len(X), dtype=np.longdouble) if w is None else np.asarray(w, dtype=np.longdouble)
    centred = X - X[0]
    shift = w @ centred / w.sum()
    centred = centred - shift
    return w.sum(), X[0] + shift, (centred * w[:, None]).T @ centred


def error(C, expected):
    """Largest error of an entry, relative to the deviations of both features."""
    std = np.sqrt(expected.diagonal())
    return float(np.max(np.abs(C.scatter - expected) / np.outer(std, std)))


def chosen(values, which):
    return None if values is None else values[which]


def random_case(rng, offset, dtype, *, weighted, n_features=3):
    n = int(rng.integers(6, 60))
    mixed = rng.standard_normal((n, n_features)) @ rng.standard_normal((n_features, n_features))
    X = mixed * 10 ** rng.uniform(-1, 2) + offset * rng.standard_normal(n_features)
    return X.astype(dtype), rng.uniform(0.1, 3, n) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", OFFSETS)
def test_parts_add_up_and_come_apart(offset, dtype, weighted):
    rng = np.random.default_rng(int(offset) % 97)
    answered = 0
    for _ in range(12):
        X, w = random_case(rng, offset, dtype, weighted=weighted)
        order = rng.permutation(len(X))
        a, b = np.split(order, [int(rng.integers(1, len(X) - 3))])
        n, mean, scatter = two_passes(X, w)
        if (scatter.diagonal() == 0).any():
            continue
        whole = SampleCovariance.of(X, w)
        A = SampleCovariance.of(X[a], chosen(w, a))
        B = SampleCovariance.of(X[b], chosen(w, b))
        grown = SampleCovariance.of(X[a], chosen(w, a)).partial_fit(X[b], chosen(w, b))
        for C in (whole, A + B, B.merge(A), grown):
            assert error(C, scatter) < 1e-14
            np.testing.assert_allclose(C.mean, mean.astype(float), rtol=1e-15, atol=1e-14)
            assert C.n_samples == pytest.approx(float(n), rel=1e-14)
            assert C.dtype == dtype
        try:
            rest = whole - A
        except LostDigitsError:
            continue
        answered += 1
        expected = two_passes(X[b], chosen(w, b))[2]
        assert error(rest, expected) < MAX_ROUNDING
        # The rounding it claims covers the one it has.
        claimed = np.max(rest.rounding / rest.scatter.diagonal())
        assert error(rest, expected) <= claimed
    assert answered >= 6


def test_the_mean_is_known_beyond_sixteen_digits():
    rng = np.random.default_rng(3)
    X = 1e8 + rng.standard_normal((40, 1))
    C = SampleCovariance.of(X[:13]) + SampleCovariance.of(X[13:])
    exact = sum(Fraction(float(v)) for v in X[:, 0]) / 40
    kept = Fraction(float(C.mean[0])) + Fraction(float(C.mean_rest[0]))
    assert abs(float(kept - exact)) < 1e-14
    assert abs(float(Fraction(float(C.mean[0])) - exact)) > 1e-12


@pytest.mark.parametrize("container", registry.containers())
@pytest.mark.parametrize("weighted", [False, True])
def test_every_container_gives_the_same_in_one_pass(container, weighted, tmp_path):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((31, 4)) * (rng.random((31, 4)) < 0.6) + [0, 0, 0, 3]
    w = rng.uniform(0.5, 2, 31) if weighted else None
    C = SampleCovariance.of(registry.containers()[container](X, tmp_path), w)
    assert error(C, two_passes(X, w)[2]) < 1e-13
    assert C.rounding.max() < 1e-12 * C.scatter.diagonal().min()


def test_a_dask_array_is_read_once():
    X = np.random.default_rng(5).standard_normal((60, 4))
    seen = []

    def look(block):
        seen.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(20, 4)).map_blocks(look, meta=np.empty((0, 4)), dtype=float)
    parts = SampleCovariance.of_parts(lazy, None, np.arange(60) % 3, 3)
    assert sum(seen) == 60
    for k, part in enumerate(parts):
        assert error(part, two_passes(X[k::3])[2]) < 1e-13


def test_digits_survive_outliers_and_drift():
    rng = np.random.default_rng(14)
    X = rng.standard_normal((90, 2)) + np.repeat([0.0, 1e6, 1e9], 30)[:, None]
    X[:30, 1] = 0.25
    X[30:, 1] = 0.0
    parts = SampleCovariance.of_parts(
        da.from_array(X, chunks=(25, 2)), None, np.arange(90) // 30, 3
    )
    for k, part in enumerate(parts):
        expected = two_passes(X[30 * k : 30 * (k + 1)])[2]
        assert part.scatter[0, 0] == pytest.approx(float(expected[0, 0]), rel=1e-13)
    assert (parts[1] + parts[2]).moments().constant.tolist() == [False, True]


@pytest.mark.parametrize("weighted", [False, True])
def test_single_precision_is_summed_in_pieces(weighted, monkeypatch):
    monkeypatch.setattr(scatter, "CACHED_BYTES", 4 * 3 * 7)
    rng = np.random.default_rng(8)
    X = (rng.standard_normal((60, 3)) + 5).astype(np.float32)
    w = rng.uniform(0.1, 3, 60) if weighted else None
    n, mean, expected = two_passes(X, w)
    (found,) = scatter.accumulate_scatter(rows_of(X), w, exact=False)
    assert found.n_samples == pytest.approx(float(n))
    np.testing.assert_allclose(found.mean, mean.astype(float), rtol=1e-6)
    np.testing.assert_allclose(found.matrix, expected.astype(float), rtol=1e-5, atol=1e-4)


def test_names_come_from_frames_and_must_agree():
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.standard_normal((9, 3)), columns=["a", "b", "c"])
    C = SampleCovariance.of(X)
    assert C.names.tolist() == ["a", "b", "c"]
    unnamed = SampleCovariance.of(X.to_numpy())
    assert unnamed.names is None
    for both in (C + unnamed, unnamed + C, C + C):
        assert both.names.tolist() == ["a", "b", "c"]
    assert (unnamed + unnamed).names is None
    before = C.scatter.copy()
    with pytest.raises(ValueError, match=r"called 'b' in one covariance and 'c' in the other"):
        C.partial_fit(X[["a", "c", "b"]])
    with pytest.raises(ValueError, match="3 and 2 features"):
        C.partial_fit(X[["a", "b"]])
    np.testing.assert_array_equal(C.scatter, before)
    with pytest.raises(TypeError):
        C + 1


def test_merging_and_subtracting_leave_their_arguments_alone():
    rng = np.random.default_rng(7)
    A, B = (SampleCovariance.of(rng.standard_normal((8, 3))) for _ in range(2))
    kept = [A.scatter.copy(), B.scatter.copy()]
    assert (A + B) is not A
    assert (A + B).subtract(B).n_samples == 8
    np.testing.assert_array_equal(A.scatter, kept[0])
    np.testing.assert_array_equal(B.scatter, kept[1])


def test_one_row_is_enough_to_begin_with():
    X = np.random.default_rng(8).standard_normal((12, 3)) + 1e5
    C = SampleCovariance.of(X[:1])
    with pytest.raises(ValueError, match=r"n_samples=1 is too few .* partial_fit"):
        C.covariance()
    for row in X[1:]:
        C.partial_fit(row[None])
    np.testing.assert_allclose(
        C.covariance().matrix, (two_passes(X)[2] / 11).astype(float), rtol=1e-10
    )
    correlations = C.covariance(standardize=True).matrix
    np.testing.assert_allclose(correlations, np.corrcoef(X.T), rtol=1e-8)


def test_lost_digits_are_refused():
    rng = np.random.default_rng(9)
    quiet, loud = rng.standard_normal((20, 2)), rng.standard_normal((20, 2))
    loud[:, 1] *= 1e7
    whole = SampleCovariance.of(np.vstack([quiet, loud]))
    with pytest.raises(LostDigitsError, match=r"variance of feature\(s\) 1 has lost its digits"):
        whole - SampleCovariance.of(loud)


@pytest.mark.parametrize("offset", [0, 1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_features_far_from_zero_keep_their_digits(offset, weighted):
    rng = np.random.default_rng(11)
    X = offset + rng.standard_normal((60, 3)) @ rng.standard_normal((3, 3))
    # Full, nearly full and half full.
    X[7, 1] = 0
    X[::2, 2] = 0
    w = rng.uniform(0.5, 2, 60) if weighted else None
    exact = two_passes(X, w)[2]
    merged = SampleCovariance.of(sparse.csr_array(X[:25]), None if w is None else w[:25])
    merged.partial_fit(sparse.csc_array(X[25:]), None if w is None else w[25:])
    for C in (SampleCovariance.of(sparse.csr_array(X), w), merged):
        assert error(C, exact) < 1e-10
        C.covariance()


def test_what_was_never_in_it_is_refused_where_that_shows():
    rng = np.random.default_rng(10)
    C = SampleCovariance.of(rng.standard_normal((30, 2)))
    with pytest.raises(ValueError, match="never in the whole"):
        C - SampleCovariance.of(5 * rng.standard_normal((20, 2)))
    with pytest.raises(ValueError, match="30 of 30 samples cannot be taken away"):
        C - C


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, da.from_array])
def test_a_constant_feature_stays_constant(container):
    X = np.random.default_rng(11).standard_normal((50, 3))
    X[:, 1] = 1e5 + 0.7
    A, B = SampleCovariance.of(container(X[:20])), SampleCovariance.of(container(X[20:]))
    for C in (A, A + B, (A + B) - A):
        assert C.moments().constant.tolist() == [False, True, False]
        assert not C.covariance().matrix[1].any()


def test_bad_rows_and_weights_are_refused():
    X = np.random.default_rng(12).standard_normal((6, 2))
    lazy = da.from_array(np.where(np.arange(12).reshape(6, 2) == 3, np.nan, X), chunks=(3, 2))
    with pytest.raises(ValueError, match=r"NaN or infinity .* in feature\(s\) 1"):
        SampleCovariance.of(lazy)
    with pytest.raises(ValueError, match="NaN"):
        SampleCovariance.of([[1.0, np.nan]])
    with pytest.raises(ValueError, match="at least one non-zero"):
        SampleCovariance.of(X, np.zeros(6))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        SampleCovariance.of(X, -np.ones(6))
    with pytest.raises(MemoryError, match=r"20000 features take 3\.0 GiB"):
        SampleCovariance.of(sparse.csr_array((5, 20_000)))


def saved(tmp_path, names=("a", "b")):
    X = np.random.default_rng(13).standard_normal((9, 2)).astype(np.float32)
    C = SampleCovariance.of(pd.DataFrame(X, columns=names))
    return C, C.save(tmp_path / "c.npz")


def test_a_file_gives_back_what_was_saved(tmp_path):
    C, path = saved(tmp_path)
    again = SampleCovariance.load(path)
    assert is_sample_file(path)
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]
    assert (again.n_samples, again.dtype) == (9, np.float32)
    for field in ("mean", "mean_rest", "scatter", "rounding", "names"):
        np.testing.assert_array_equal(vars(again)[field], vars(C)[field])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda p, h: p.update({"mean": p["mean"][:1]}), "is damaged"),
        (lambda p, h: p.update({"scatter": p["scatter"] * np.nan}), "NaN or infinity"),
        (lambda p, h: p.update({"scatter": -p["scatter"]}), "diagonal >= 0"),
        (lambda p, h: p.update({"scatter": np.array([[1.0, 0.5], [0.0, 1.0]])}), "symmetric"),
        (lambda p, h: p.update({"scatter": p["scatter"].astype(object)}), "is damaged"),
        (lambda p, h: p.update({"names": p["names"][:1]}), "1 names for 2 features"),
        (lambda p, h: p.pop("rounding"), "is damaged"),
        (lambda p, h: h.update(n_samples=-1), "n_samples=-1"),
        (lambda p, h: h.update(dtype="int8"), "int8"),
        (lambda p, h: h.update(dtype="nonsense"), "is damaged"),
        (lambda p, h: h.update(format_version=2, loadstone_version="9"), "loadstone 9, newer"),
        (lambda p, h: h.update(format_version=0), "is damaged .*format version 0"),
        (lambda p, h: h.update(format_version=True), "is damaged .*format version True"),
        (lambda p, h: h.pop("format_version"), "is damaged .*format version None"),
        (lambda p, h: h.update(format="other"), "is no covariance"),
        (lambda p, h: h.clear(), "is no covariance"),
    ],
)
def test_a_changed_file_is_refused(change, sentence, tmp_path):
    _, path = saved(tmp_path)
    with np.load(path) as archive:
        parts = dict(archive)
    header = json.loads(str(parts["loadstone_covariance_json"]))
    change(parts, header)
    parts["loadstone_covariance_json"] = np.array(json.dumps(header))
    np.savez(path, **parts)
    with pytest.raises(CovarianceFileError, match=sentence):
        SampleCovariance.load(path)


def test_torn_foreign_and_missing_files_are_refused(tmp_path):
    _, path = saved(tmp_path)
    whole = path.read_bytes()
    for cut in (3, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:cut])
        with pytest.raises(CovarianceFileError, match=r"is damaged|is no covariance"):
            SampleCovariance.load(path)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    path.write_bytes(flipped)
    with pytest.raises(CovarianceFileError):
        SampleCovariance.load(path)
    path.write_text("a,b\n1,2\n")
    assert not is_sample_file(path)
    with pytest.raises(CovarianceFileError, match="is no covariance"):
        SampleCovariance.load(path)
    with pytest.raises(CovarianceFileError, match="there is no file"):
        SampleCovariance.load(tmp_path / "none.npz")
    assert not is_sample_file(tmp_path / "none.npz")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_products_in_single_precision_have_the_digits_of_the_data(offset, weighted):
    rng = np.random.default_rng(3)
    X = (offset + rng.standard_normal((900, 7)) @ np.diag(np.arange(1, 8))).astype(np.float32)
    X[:300] += np.float32(5)
    w = rng.uniform(0.5, 2, 900) if weighted else None
    part = np.repeat([1, 0, 2], 300)
    part[::7] = 1
    found = SampleCovariance.of_parts(X, w, part, 3, exact=False)
    for i, C in enumerate(found):
        rows, v = (
            X[part == i].astype(np.float64),
            np.ones(900)[part == i] if w is None else w[part == i],
        )
        mean = v @ rows / v.sum()
        scatter = (rows - mean).T @ np.diag(v) @ (rows - mean)
        scale = np.sqrt(np.outer(scatter.diagonal(), scatter.diagonal()))
        assert np.abs(C.scatter - scatter).max() <= 3e-6 * scale.max()
        assert (np.abs(C.scatter - scatter) <= 3e-6 * scale).all()
        np.testing.assert_allclose(
            C.mean + C.mean_rest, mean, atol=1e-6 * np.sqrt(scatter.diagonal() / v.sum()).max()
        )
        assert (np.abs(C.scatter.diagonal() - scatter.diagonal()) <= C.rounding).all()
        assert C.covariance().matrix.dtype == np.float32


def test_sums_in_single_precision_are_too_coarse_to_be_subtracted():
    X = np.random.default_rng(0).standard_normal((400, 3)).astype(np.float32)
    (whole,) = SampleCovariance.of_parts(X, exact=False)
    (part,) = SampleCovariance.of_parts(X[:100], exact=False)
    with pytest.raises(LostDigitsError):
        whole - part
