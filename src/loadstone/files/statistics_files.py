"""Files of statistics programs: Stata and SPSS."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadstone.files.errors import TableError
from loadstone.files.foreign import foreign
from loadstone.files.frames import table_of_frame
from loadstone.files.read_apart import refuse_unreadable
from loadstone.files.table import Table
from loadstone.files.text_tables import with_first_as_index


def read_stata(path: Path, roles: Mapping[str, str | None]) -> Table:
    """A ``.dta`` file; values with a label are words."""
    import pandas as pd

    with foreign(path, "Stata"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Of bytes in memory no more can be read than are there, whatever a header says.
        frame = pd.read_stata(io.BytesIO(path.read_bytes()))
        return _table(frame, path, roles)


def read_spss(path: Path, roles: Mapping[str, str | None]) -> Table:
    """A ``.sav`` file; values with a label are words."""
    try:
        import pyreadstat
    except ModuleNotFoundError as error:
        msg = (
            "reading SPSS files needs pyreadstat: pip install pyreadstat; or save the file as .csv "
            "or .xlsx in SPSS"
        )
        raise TableError(msg) from error
    with foreign(path, "SPSS"):
        if path.read_bytes()[:4] not in {b"$FL2", b"$FL3"}:
            msg = f"{path} is no SPSS file: it does not begin with $FL2 or $FL3"
            raise TableError(msg)
        refuse_unreadable(__name__, path)
        frame, _ = pyreadstat.read_sav(str(path), apply_value_formats=True)
        return _table(frame, path, roles)


def main() -> None:
    """Read the SPSS file that is named on the command line, in a process of its own."""
    import pyreadstat

    pyreadstat.read_sav(sys.argv[1], apply_value_formats=True)


def _table(frame: Any, path: Path, roles: Mapping[str, str | None]) -> Table:
    """Row names are looked for as in any other table."""
    return table_of_frame(with_first_as_index(frame, roles, header=True), str(path))
