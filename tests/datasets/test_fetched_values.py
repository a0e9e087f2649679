"""What a fetched file becomes, with files of our own making."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from loadstone.datasets import fetch as fetching
from loadstone.datasets.catalogue import Source


def known(monkeypatch, folder, arrays):
    """A data set in ``folder`` that is in the catalogue."""
    np.savez(folder / "own.npz", **arrays)
    own = Source("own", "t", (4, 6), "own.npz", fetching.digest_of(arrays), "home", "who", "terms")
    monkeypatch.setattr(fetching, "source", lambda _: own)
    monkeypatch.setenv("LOADSTONE_DATA", str(folder))


def test_images_say_their_shape(tmp_path, monkeypatch):
    known(monkeypatch, tmp_path, {"X": np.arange(24.0).reshape(4, 6), "image_shape": [2, 3]})
    images = fetching.fetch("own", download=False)
    assert images.image_shape == (2, 3)
    assert all(type(n) is int for n in images.image_shape)
    assert "who" in images.DESCR
    assert "terms" in images.DESCR


def parts(X):
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}


def test_a_sparse_set_is_known_by_its_values_in_any_order(tmp_path, monkeypatch):
    X = sparse.csr_array(np.diag([1.0, 2.0, 3.0, 4.0]) + np.eye(4, k=1))
    expected = hashlib.sha256()
    for part in (X.data, X.indices, X.indptr):
        expected.update(f"({part.size},)".encode() + part.astype("<f8").tobytes())
    assert fetching.digest_of(parts(X)) == expected.hexdigest()
    turned = X.copy()
    for row in range(4):
        place = slice(turned.indptr[row], turned.indptr[row + 1])
        turned.data[place] = turned.data[place][::-1].copy()
        turned.indices[place] = turned.indices[place][::-1].copy()
    turned.has_sorted_indices = False
    assert fetching.digest_of(parts(turned)) == expected.hexdigest()
    other = X.copy()
    other.data[0] = 9
    assert fetching.digest_of(parts(other)) != expected.hexdigest()
    known(monkeypatch, tmp_path, parts(X))
    np.testing.assert_array_equal(fetching.fetch("own").data.toarray(), X.toarray())


def test_downloads_are_kept_where_the_system_keeps_such_things(monkeypatch):
    for name in ("LOADSTONE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert fetching.cache_folder() == Path.home() / ".cache" / "loadstone"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/kept")
    assert fetching.cache_folder() == Path("/var/kept/loadstone")
    monkeypatch.setenv("LOADSTONE_CACHE", "~/own")
    assert fetching.cache_folder() == Path.home() / "own"


def test_a_set_without_an_address_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("LOADSTONE_DATA", str(tmp_path))
    monkeypatch.setenv("LOADSTONE_CACHE", str(tmp_path))
    with pytest.raises(fetching.DataNotHereError, match="no plain file of it is published"):
        fetching.fetch("associated_press")
