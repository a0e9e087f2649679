"""Every data set is the one it says it is, or says why it is not here."""

import io
import tarfile

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

from loadstone import datasets
from loadstone.datasets import fetch as fetching
from loadstone.datasets import originals
from loadstone.datasets.catalogue import SOURCES, Source
from real_data import data_file


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Neither local files nor a cache nor a network."""
    monkeypatch.delenv("LOADSTONE_DATA", raising=False)
    monkeypatch.setenv("LOADSTONE_CACHE", str(tmp_path / "cache"))

    def refuse(*_, **__):
        message = "no route to host"
        raise OSError(message)

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    return tmp_path


def test_pit_props_are_the_published_table():
    pitprops = datasets.load_pitprops()
    R = pitprops.correlation
    assert R.shape == (13, 13)
    np.testing.assert_array_equal(R, R.T)
    np.testing.assert_array_equal(R.diagonal(), 1)
    assert R[0, 1] == 0.954
    np.testing.assert_allclose(
        np.linalg.eigvalsh(R)[::-1][:4], [4.2186, 2.3781, 1.8782, 1.1094], atol=5e-5
    )
    assert pitprops.n_samples == 180


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.name)
def test_local_files_come_first_and_are_checked(source, monkeypatch):
    path = data_file(source.file)
    monkeypatch.setenv("LOADSTONE_DATA", str(path.parent))
    bunch = getattr(datasets, f"fetch_{source.name}")(download=False)
    assert bunch.data.shape == source.shape
    if "feature_names" in bunch:
        assert len(bunch.feature_names) == source.shape[1]
    if "target" in bunch:
        assert len(bunch.target) == source.shape[0]
    if "image_shape" in bunch:
        assert np.prod(bunch.image_shape) == source.shape[1]


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.name)
def test_offline_the_error_says_what_to_do(source, nowhere):
    with pytest.raises(fetching.DataNotHereError) as caught:
        getattr(datasets, f"fetch_{source.name}")()
    sentence = str(caught.value)
    assert source.file in sentence
    assert "LOADSTONE_DATA" in sentence
    if source.address:
        assert source.address in sentence
        assert "no route to host" in sentence
    assert not (nowhere / "cache").exists()


def test_other_values_and_damaged_files_are_refused(nowhere, monkeypatch):
    monkeypatch.setenv("LOADSTONE_DATA", str(nowhere))
    path = nowhere / "glass.npz"
    np.savez(path, X=np.ones((214, 9)))
    with pytest.raises(fetching.DataNotHereError, match="does not hold the values of glass"):
        datasets.fetch_glass()
    np.savez(path, Y=np.ones(3))
    with pytest.raises(fetching.DataNotHereError, match="has no array"):
        datasets.fetch_glass()
    path.write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(fetching.DataNotHereError, match="cannot be read as npz"):
        datasets.fetch_glass()


def test_a_download_is_checked_kept_and_not_asked_for_again(nowhere, monkeypatch):
    X = np.arange(600.0 * 60).reshape(600, 60)
    text = "\n".join(" ".join(f"{v:.4f}" for v in row) for row in X).encode()
    known = Source("synthetic_control", "t", X.shape, "s.npz", fetching.digest_of({"X": X}),
                   "home", "cite", "terms", "http://example.org/file")  # fmt: skip
    monkeypatch.setattr(fetching, "source", lambda _: known)
    asked = []

    def answer(address, timeout):
        asked.append(address)
        return io.BytesIO(text)

    monkeypatch.setattr("urllib.request.urlopen", answer)
    for _ in range(2):
        bunch = fetching.fetch("synthetic_control")
        np.testing.assert_array_equal(bunch.data, X)
        np.testing.assert_array_equal(np.bincount(bunch.target), 100)
    assert asked == ["http://example.org/file"]
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: io.BytesIO(text[:-400]))
    (nowhere / "cache" / "s.npz").unlink()
    with pytest.raises((fetching.DataNotHereError, ValueError)):
        fetching.fetch("synthetic_control")
    assert not list((nowhere / "cache").iterdir())


def test_published_formats_are_understood():
    spectra = b"% note\n@relation s\n" + b"".join(
        f"@attribute a{i} REAL\n".encode() for i in range(12)
    ) + b"@data\n12043-6225,23,0,1,2,3,4,5,6,7,10.5,-2\n"  # fmt: skip
    arrays = originals.parse("lrs", spectra)
    np.testing.assert_array_equal(arrays["X"], [[10.5, -2]])
    assert (arrays["y"][0], arrays["y_superclass"][0]) == (23, 2)
    assert arrays["feature_names"].tolist() == ["a10", "a11"]
    glass = originals.parse("glass", b"id,Ri\n1,1.5,13,4,1,71,0,8,0,0.5,1\n2,1,2,3,4,5,6,7,8,9,7\n")
    assert glass["X"].shape == (2, 9)
    assert glass["y"].tolist() == [1, 7]


def test_a_10x_archive_becomes_cells_by_genes():
    counts = sparse.random_array((3, 4), density=0.5, rng=0).astype(bool).astype(int)
    matrix = io.BytesIO()
    scipy_io.mmwrite(matrix, sparse.coo_array(counts.T))
    files = {
        "matrix.mtx": matrix.getvalue(),
        "genes.tsv": b"ENSG1\tA\nENSG2\tB\nENSG3\tC\nENSG4\tD\n",
        "barcodes.tsv": b"AA-1\nCC-1\nGG-1\n",
    }
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(f"filtered/hg19/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    arrays = originals.parse("pbmc3k", archive.getvalue())
    np.testing.assert_array_equal(fetching._csr(arrays).toarray(), counts.toarray())
    assert arrays["feature_names"].tolist() == ["A", "B", "C", "D"]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="leukemia"):
        fetching.fetch("iris")


def test_sector_returns_have_the_structure_they_state():
    returns = datasets.make_sector_returns(2000, random_state=0)
    R = np.corrcoef(returns.data.T)
    for j in range(5):
        inside = returns.sector == j
        outside = returns.sector == -1
        within = R[np.ix_(inside, inside)][~np.eye(inside.sum(), dtype=bool)]
        assert within.min() > R[np.ix_(inside, outside)].max() - 0.05
    assert returns.feature_names[0] == "energy 1"
    with pytest.raises(ValueError, match="one per sector"):
        datasets.make_sector_returns(sizes=[3])


def test_scaled_images_have_the_same_brightness_and_contrast():
    rng = np.random.default_rng(0)
    X = rng.uniform(100, 101, (4, 50))
    scaled = datasets.scale_images(np.vstack([X, 3 * X - 7, np.full((1, 50), 9.0)]))
    np.testing.assert_array_equal(scaled[:4], scaled[4:8])
    np.testing.assert_array_equal(scaled[8], 63)
    assert scaled.min() >= 0
    assert scaled.max() <= 255
    # By hand for one pixel: (x - mean) / sd / 4 + 1/4, in 255 steps.
    z = (X[0, 0] - X[0].mean()) / X[0].std(ddof=1)
    assert scaled[0, 0] == np.floor(255 * np.clip(z / 4 + 0.25, 0, 1))
    with pytest.raises(ValueError, match="reshape"):
        datasets.scale_images(np.ones((2, 3, 3)))
