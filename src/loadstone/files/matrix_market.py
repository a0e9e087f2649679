"""Matrix Market files, and the names that 10x puts beside them."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files.errors import TableError
from loadstone.files.foreign import foreign, opened, refuse_beyond_memory
from loadstone.files.npy_arrays import DamagedError
from loadstone.files.sparse_parts import checked_sparse
from loadstone.files.table import Table, transposed
from loadstone.files.text_tables import lines_of

_NUMBER = rb"[-+]?+(?:(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+|(?i:inf(?:inity)?+|nan))"
_PLACE = rb"\d++[ \t]++\d++"
#: What stands in a line, by format and field.
_LINES = {
    ("coordinate", "real"): _PLACE + rb"[ \t]++" + _NUMBER,
    ("coordinate", "pattern"): _PLACE,
    ("array", "real"): _NUMBER,
}
_FORMATS = {"coordinate", "array"}
_FIELDS = {"real", "double", "integer", "unsigned-integer", "pattern"}
_SYMMETRIES = {"general", "symmetric", "skew-symmetric"}


def read_mtx(path: Path) -> Table:
    """Matrix Market; features may stand in rows, as 10x writes them."""
    with foreign(path, "Matrix Market"):
        X = _matrix(path)
    genes = _beside(path, ("features.tsv", "genes.tsv"), column=1)
    cells = _beside(path, ("barcodes.tsv",), column=0)
    if genes is not None and cells is not None and X.shape == (len(genes), len(cells)):
        turned = transposed(Table(X, cells, genes))
        return turned.noting("features stand in the rows of this file: it was turned round")
    fits = genes is not None and X.shape[1] == len(genes)
    return Table(X, genes if fits else None)


def _matrix(path: Path) -> Any:
    from scipy.io import mmread

    with opened(path) as file:
        content = file.read().replace(b"\r", b"\n")
    X = mmread(io.BytesIO(_well_formed(content, path)), spmatrix=False)
    if sparse.issparse(X):
        return checked_sparse(X, path)
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        msg = f"a matrix of shape {X.shape}"
        raise DamagedError(msg)
    return X


def _well_formed(content: bytes, path: Path) -> bytes:
    """The same file, in the form that the compiled parser survives, or an error.

    That parser allocates what the second line declares, and reads over the end of a file
    whose last line goes on behind its last number.
    """
    banner, _, rest = content.partition(b"\n")
    words = banner.decode("ascii", errors="replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        msg = "the first line is not %%MatrixMarket matrix and three more words"
        raise DamagedError(msg)
    kind, field, symmetry = words[2:]
    if field == "complex" or symmetry == "hermitian":
        msg = f"{path} holds complex numbers; only real ones are analysed"
        raise TableError(msg)
    if kind not in _FORMATS or field not in _FIELDS or symmetry not in _SYMMETRIES:
        msg = f"the first line says {' '.join(words[2:])}, which is not known"
        raise DamagedError(msg)
    lines = rest.lstrip(b"\n")
    while lines.startswith(b"%"):
        lines = lines.partition(b"\n")[2].lstrip(b"\n")
    sizes, _, body = lines.partition(b"\n")
    _check_sizes(sizes, body, kind, path)
    if symmetry != "general" and len(set(sizes.split()[:2])) > 1:
        msg = f"the first line says {symmetry}, and the matrix is not square"
        raise DamagedError(msg)
    body = body.strip() + b"\n" if body.strip() else b""
    # As integers, 1.5 would be read as 1.
    field = "pattern" if field == "pattern" else "real"
    _check_lines(body, _LINES.get((kind, field)))
    first = f"%%MatrixMarket matrix {kind} {field} {symmetry}".encode()
    return b"\n".join((first, sizes, body))


def _check_lines(body: bytes, line: bytes | None) -> None:
    """Refuse a line that is not what it should be: the parser would read 1-5 or 1.2.3 as 1 or 1.2."""
    if line is None:
        msg = "an array without values; a pattern has places"
        raise DamagedError(msg)
    right = re.match(rb"(?:[ \t]*+" + line + rb"[ \t]*+\n++)*+", body)
    end = right.end() if right else 0
    if end < len(body):
        wrong = body[end : end + 40].split(b"\n")[0].decode("ascii", errors="replace")
        msg = f"a line of other things than the numbers that belong there: {wrong!r}"
        raise DamagedError(msg)


def _check_sizes(sizes: bytes, body: bytes, kind: str, path: Path) -> None:
    numbers = [int(word) for word in sizes.split()]
    n_numbers = 3 if kind == "coordinate" else 2
    if len(numbers) != n_numbers or min(numbers) < 1:
        msg = f"the line of sizes should hold {n_numbers} positive numbers"
        raise DamagedError(msg)
    n_rows, n_columns, n_entries = numbers if kind == "coordinate" else (*numbers, 1)
    if kind == "array":
        refuse_beyond_memory(8 * n_rows * n_columns, path)
        # Of a symmetric matrix half is written.
        n_entries = n_rows * n_columns // 2
    else:
        refuse_beyond_memory(8 * (n_rows + n_columns), path, "a sparse matrix")
    # An entry and what separates it take two bytes, with its indices at least four.
    if n_entries * (4 if kind == "coordinate" else 2) > len(body) + 4:
        msg = f"{n_entries} entries are declared, which {len(body)} bytes cannot hold"
        raise DamagedError(msg)


def _beside(path: Path, names: tuple[str, ...], column: int) -> Any:
    for name in names:
        for file in (path.with_name(name), path.with_name(f"{name}.gz")):
            if file.is_file():
                cells = [line.rstrip("\r\n").split("\t") for line in lines_of(file)]
                return np.array([c[min(column, len(c) - 1)] for c in cells], dtype=object)
    return None
