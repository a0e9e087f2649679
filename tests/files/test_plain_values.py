"""Values that go to a file and come back as they were; files that appear whole or not at all."""

import json
import math
import sys

import numpy as np
import pytest
from scipy import sparse

from loadstone.covariance.moments import Moments
from loadstone.files.atomic import refuse_existing, writing
from loadstone.files.errors import ExistingFileError, UnwritableFileError
from loadstone.files.npz_json import NotPlainError, decode, encode
from loadstone.files.tables import read_table
from loadstone.loadings import Stop


def there_and_back(value):
    """Through strict JSON, which knows neither NaN nor infinity."""
    arrays = {}
    text = json.dumps(encode(value, arrays), allow_nan=False)
    return decode(json.loads(text), arrays)


@pytest.mark.parametrize(
    "value",
    [None, True, False, 3, -2.5, "text", [1, [2, "x"]], (1, (2.5, "y")), range(2, 9, 3),
     {"a": (1, 2), "is": [None]}, [], (), {}, Stop.CONVERGED],
    ids=repr,
)  # fmt: skip
def test_plain_values_keep_value_and_type(value):
    found = there_and_back(value)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, np.float64("inf")])
def test_infinite_numbers_are_written_in_strict_json(value):
    assert there_and_back([value]) == [value]


def test_nan_stays_nan():
    assert math.isnan(there_and_back(math.nan))


def test_arrays_do_not_overwrite_one_another():
    value = {
        "a": np.arange(3),
        "b": [np.ones((2, 2), dtype=np.float32), np.array(["x", "yz"], dtype=object)],
        "c": np.array([True, False]),
    }
    found = there_and_back(value)
    np.testing.assert_array_equal(found["a"], [0, 1, 2])
    np.testing.assert_array_equal(found["b"][0], np.ones((2, 2)))
    assert found["b"][0].dtype == np.float32
    assert found["b"][1].tolist() == ["x", "yz"]
    assert found["b"][1].dtype == object
    assert found["c"].dtype == bool


def test_dataclasses_of_the_package_come_back():
    moments = Moments(10.0, np.arange(2.0), np.ones(2), np.array([False, True]), None)
    found = there_and_back(moments)
    assert isinstance(found, Moments)
    assert found.n_samples == 10.0
    np.testing.assert_array_equal(found.mean, [0, 1])
    assert found.scale is None


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, 1j, np.array([object()])],
    ids=["object", "dict", "complex", "array"],
)
def test_what_has_no_plain_form_is_refused(value):
    with pytest.raises(NotPlainError):
        encode(value, {})


@pytest.mark.parametrize("kind", ["dataclass", "enum"])
@pytest.mark.parametrize("address", ["this:anything", "os:path", "loadstone.loadings:Loadings.x"])
def test_no_module_outside_the_package_is_ever_imported(address, kind):
    # A module whose import would be noticed: it prints a poem.
    assert "this" not in sys.modules
    with pytest.raises(ValueError, match="no class of loadstone"):
        decode({"is": kind, "class": address, "fields": {}, "name": "x"}, {})
    assert "this" not in sys.modules


def test_fields_a_class_does_not_have_are_refused():
    stored = encode(Moments(1.0, np.ones(1), np.ones(1), np.ones(1), None), arrays := {})
    stored["fields"]["surprise"] = 1
    with pytest.raises(ValueError, match="no field 'surprise'"):
        decode(stored, arrays)
    with pytest.raises(ValueError, match="unknown kind"):
        decode({"is": "code"}, {})


def test_a_file_appears_when_its_block_ends_well(tmp_path):
    path = tmp_path / "deep" / "table.txt"
    with writing(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
        assert temporary.suffix == ".txt"
    assert path.read_text() == "whole"
    assert [p.name for p in path.parent.iterdir()] == ["table.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("no"), OSError(28, "full")])
def test_a_broken_block_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "table.txt"
    path.write_text("old")
    expected = UnwritableFileError if isinstance(error, OSError) else BaseException
    with pytest.raises(expected), writing(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["table.txt"]


def test_existing_files_need_force(tmp_path):
    path = tmp_path / "there.txt"
    refuse_existing([path], force=False)
    path.write_text("x")
    with pytest.raises(ExistingFileError, match=r"there\.txt exists already"):
        refuse_existing([tmp_path / "new.txt", path], force=False)
    refuse_existing([path], force=True)


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_archives_are_read_by_rows_or_columns(kind, tmp_path):
    X = np.arange(12.0).reshape(4, 3) * (np.arange(12).reshape(4, 3) % 2)
    build = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}[kind]
    sparse.save_npz(tmp_path / "m.npz", build(X))
    np.testing.assert_array_equal(read_table(tmp_path / "m.npz").X.toarray(), X)
