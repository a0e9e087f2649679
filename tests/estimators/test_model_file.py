"""A model comes back as it went, or the file is refused with a sentence."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA

import loadstone
import registry
from loadstone import SparseNoisyPCA, SparsePCA, SparsePCACV, load_model, save_model
from loadstone.estimators import model_file
from loadstone.files.errors import MissingFileError, ModelFileError, UnwritableFileError
from loadstone.loadings import Stop


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture
def saved(wine, tmp_path):
    model = SparsePCA(2, n_nonzero=[4, 0.2], standardize=True, forbidden=["ash"]).fit(wine)
    return model, save_model(model, tmp_path / "model.npz")


def same(a, b):
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("cls", registry.estimators())
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_comes_back_as_it_went(cls, wine, tmp_path):
    model = clone(cls()).fit(wine / wine.std())
    again = load_model(save_model(model, tmp_path / "model.npz"))
    assert type(again) is cls
    assert again.get_params() == model.get_params()
    if hasattr(model, "components_"):
        np.testing.assert_array_equal(again.components_, model.components_)
    np.testing.assert_array_equal(again.transform(wine), model.transform(wine))
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)


@pytest.mark.parametrize(
    "model", [SparseNoisyPCA(range(1, 3)), SparsePCACV(n_nonzeros=range(1, 6, 2))]
)
@pytest.mark.filterwarnings("ignore")
def test_ranges_among_the_parameters_come_back(model, wine, tmp_path):
    model.fit(wine / wine.std())
    again = load_model(save_model(model, tmp_path / "model.npz"))
    assert again.get_params() == model.get_params()


def test_every_fitted_attribute_comes_back(saved):
    model, path = saved
    again = load_model(path)
    fitted = {n: v for n, v in vars(model).items() if n.endswith("_") and n[0] != "_"}
    assert {n for n in vars(again) if n.endswith("_") and n[0] != "_"} == set(fitted)
    for name, value in fitted.items():
        assert same(getattr(again, name), value), name
    assert again.get_params() == model.get_params()


def test_certificates_come_back_and_still_hold(wine, tmp_path):
    from loadstone.covariance import covariance_of

    model = SparsePCA(1, n_nonzero=4, standardize=True, certify="full").fit(wine)
    again = load_model(save_model(model, tmp_path / "model.npz"))
    assert str(again.certificates_[0]) == str(model.certificates_[0])
    S, _ = covariance_of(wine.to_numpy(), standardize=True)
    assert again.certificates_[0].verify(S) == pytest.approx(model.upper_bound_[0])


def test_the_file_holds_plain_arrays_and_json(saved):
    _, path = saved
    with np.load(path, allow_pickle=False) as archive:
        header = json.loads(str(archive["loadstone_json"]))
        assert all(archive[name].dtype != object for name in archive.files)
    assert header["class"] == "SparsePCA"


def test_values_that_are_not_plain_are_left_out_and_told(wine, tmp_path):
    model = SparsePCA(n_nonzero=3, random_state=np.random.RandomState(0)).fit(wine)
    with pytest.warns(UserWarning, match="parameter random_state is not saved"):
        save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").random_state == 0


def test_enums_and_dataclasses_of_the_package_are_plain(tmp_path):
    from loadstone.constraints import LoadingConstraint
    from loadstone.files.npz_json import decode, encode

    arrays = {}
    value = {"a": (Stop.MAX_ITER, float("nan")), "b": LoadingConstraint(5, 2, nonnegative=True)}
    again = decode(json.loads(json.dumps(encode(value, arrays), allow_nan=False)), arrays)
    assert again["a"][0] is Stop.MAX_ITER
    assert np.isnan(again["a"][1])
    assert again["b"].n_nonzero == 2


@pytest.mark.parametrize("address", ["os:system", "loadstone.cli:main", "loadstone.loadings:nope"])
def test_no_other_class_is_ever_built(address):
    from loadstone.files.npz_json import decode

    for kind in ("dataclass", "enum"):
        with pytest.raises(ValueError, match="no class of loadstone"):
            decode({"is": kind, "class": address, "name": "x", "fields": {}}, {})


def test_only_fitted_estimators_of_loadstone_are_saved(wine, tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        save_model(SparsePCA(), tmp_path / "model.npz")
    with pytest.raises(TypeError, match="no estimator of loadstone"):
        save_model(PCA().fit(wine), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="nothing"):
        load_model(tmp_path / "nothing.npz")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x93NUMPY", b"PK\x03\x04"])
def test_foreign_files_are_refused(content, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        load_model(path)


def test_other_npz_and_npy_files_are_no_models(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3))
    np.save(tmp_path / "a.npy", np.eye(3))
    for name in ("a.npz", "a.npy"):
        with pytest.raises(ModelFileError, match="no loadstone model"):
            load_model(tmp_path / name)


def test_a_torn_file_is_refused_wherever_it_is_torn(saved, tmp_path):
    _, path = saved
    content = path.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 40)):
        (tmp_path / "torn.npz").write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "torn.npz")


def test_flipped_bytes_are_refused(saved, tmp_path):
    model, path = saved
    content = bytearray(path.read_bytes())
    for place in range(60, len(content) - 100, 37):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        (tmp_path / "damaged.npz").write_bytes(damaged)
        try:
            again = load_model(tmp_path / "damaged.npz")
        except ModelFileError:
            continue
        # Bytes of the archive that carry no content (dates, attributes) may differ.
        np.testing.assert_array_equal(again.components_, model.components_)


def rewritten(path, change):
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    header = json.loads(str(members["loadstone_json"]))
    change(header)
    members["loadstone_json"] = np.array(json.dumps(header))
    np.savez(path, **members)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda h: h.update(format_version=model_file.FORMAT_VERSION + 1), "newer than this"),
        (lambda h: h.update({"class": "system"}), "damaged"),
        (lambda h: h["parameters"].update(colour="red"), "no parameter 'colour'"),
        (lambda h: h["attributes"].update(_private=1), "no fitted attribute"),
        (lambda h: h["attributes"].pop("components_"), "damaged"),
        (lambda h: h["attributes"].update(n_features_in_=4), "components of shape"),
        (lambda h: h["attributes"]["components_"].update(name="array_99"), "damaged"),
        (lambda h: h.update(format="other"), "no loadstone model"),
    ],
)
def test_edited_headers_are_refused_with_a_sentence(change, words, saved):
    _, path = saved
    rewritten(path, change)
    with pytest.raises(ModelFileError, match=words):
        load_model(path)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("0.1.0", r"written by loadstone 0\.1, which this .* does not read \(.*'colour'\); fit"),
        (loadstone.__version__, "damaged"),
        ("nobody's", "damaged"),
        (["0.1"], "damaged"),
        (None, "damaged"),
    ],
)
def test_what_another_release_knew_is_no_damage(version, words, saved):
    _, path = saved
    rewritten(path, lambda h: h["parameters"].update(colour="red"))
    rewritten(path, lambda h: h.update(loadstone_version=version))
    with pytest.raises(ModelFileError, match=words):
        load_model(path)


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    model, path = saved
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(UnwritableFileError, match="No space left"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model.npz"]


def test_the_archive_is_an_ordinary_zip(saved):
    _, path = saved
    assert zipfile.ZipFile(path).testzip() is None
