"""``--groups`` and ``--signs``: from what was asked to the constraint that the estimator gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.constraints import Constraint, Groups, Signs
from loadstone.constraints.from_parameters import check_sizes
from loadstone.files.column_names import names_of
from loadstone.files.errors import MissingFileError, OptionError
from loadstone.files.feature_files import complete_groups, read_groups, read_signs
from loadstone.files.reachable import is_at_hand
from loadstone.files.table import Table, listed


@dataclass(frozen=True)
class Restriction:
    """What was asked for beyond a number of features and their common sign."""

    groups: str | None = None
    n_groups: int | None = None
    signs: Path | None = None

    @property
    def is_asked(self) -> bool:
        """Whether there is anything."""
        return self.groups is not None or self.signs is not None

    @property
    def files(self) -> list[Path]:
        """What is read for it; a column of that name is no file, and does no harm here."""
        return [Path(source) for source in (self.groups, self.signs) if source is not None]

    def refuse_conflicts(self, options: Mapping[str, Any], *, with_path: bool) -> None:
        """Raise where options contradict each other; no file has been read yet."""
        if self.groups is not None and self.signs is not None:
            msg = "--groups and --signs cannot be kept together; give one of them"
            raise OptionError(msg)
        if self.signs is not None and "nonnegative" in options:
            msg = (
                "--signs and --nonnegative both say which signs are allowed; leave out "
                "--nonnegative, and give every feature of the file a + where that is meant"
            )
            raise OptionError(msg)
        if self.n_groups is not None and self.groups is None:
            msg = f"--n-groups {self.n_groups} says nothing without groups; add --groups"
            raise OptionError(msg)
        if with_path and self.is_asked:
            flag = "--signs" if self.groups is None else "--groups"
            msg = f"--path follows the number of features alone; leave out --path or {flag}"
            raise OptionError(msg)

    def on(self, table: Table, size: Any, *, nonnegative: bool) -> tuple[Table, Constraint]:
        """The constraint on the features of ``table``, which notes where it came from."""
        if self.groups is not None:
            return self._grouped(table, self.groups, size, nonnegative=nonnegative)
        if self.signs is not None:
            return table, _signs(table, self.signs, size)
        msg = "neither groups nor signs were asked for"
        raise ValueError(msg)

    def _grouped(
        self, table: Table, source: str, size: Any, *, nonnegative: bool
    ) -> tuple[Table, Groups]:
        if not (size is None or isinstance(size, int)):
            msg = (
                f"--nonzero {_written(size)} with --groups has to be a whole number, the features "
                "of each group, or 'all'"
            )
            raise OptionError(msg)
        table, labels = _labels(table, source)
        n_labels, asked = len(set(labels)), self.n_groups or 1
        if asked > n_labels:
            msg = f"--n-groups {asked} is more than the {n_labels} group(s) there are"
            raise OptionError(msg)
        return table, Groups(labels, asked, size, nonnegative)


def _signs(table: Table, file: Path, size: Any) -> Signs:
    if isinstance(size, list):
        msg = f"--nonzero {_written(size)} with --signs has to be one size for all components"
        raise OptionError(msg)
    names = _names(table)
    n_nonzero = check_sizes(size, 1, len(names))[0]
    place = {name: i for i, name in enumerate(names)}
    # By number: sparse matrices carry no names.
    pattern = {place[name]: sign for name, sign in read_signs(file, names).items()}
    return Signs(pattern, n_nonzero, len(names))


def _names(table: Table) -> list[str]:
    """The features as the results call them, without blanks around."""
    return [name.strip() for name in names_of(table)]


def _labels(table: Table, source: str) -> tuple[Table, list[str]]:
    """The group of each feature, from a column that describes features or from a file."""
    names = _names(table)
    if source in table.feature_columns:
        groups = [str(group).strip() for group in table.feature_columns[source]]
        labels = complete_groups(groups, names, f"column {source!r}")
        return table.noting(f"column {source!r} gives the groups of the features"), labels
    _refuse_other_columns(table, source)
    if not is_at_hand(Path(source)):
        columns = listed(table.feature_columns) or "none"
        msg = (
            f"--groups {source} is neither a file nor a column that describes features; "
            f"such columns: {columns}"
        )
        raise MissingFileError(msg)
    labels, unknown = read_groups(source, names)
    if unknown:
        table = table.noting(
            f"{len(unknown)} feature(s) of {Path(source).name} are not in the data: "
            f"{listed(unknown)}"
        )
    return table, labels


def _refuse_other_columns(table: Table, source: str) -> None:
    if source in table.columns:
        msg = (
            f"--groups {source} is a column about samples; groups are about features: give a "
            "file with the columns feature and group"
        )
        raise OptionError(msg)
    if table.sample_names is not None and source in set(table.sample_names):
        msg = (
            f"--groups {source} is a column of numbers, so it was read as a sample; write its "
            "groups as text, or give a file with the columns feature and group"
        )
        raise OptionError(msg)


def _written(size: Any) -> str:
    sizes = size if isinstance(size, list) else [size]
    return ",".join("all" if part is None else str(part) for part in sizes)
