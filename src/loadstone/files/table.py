"""A table of numbers with what belongs to it, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files.errors import TableError

#: What can be done about missing values.
MISSING = ("mean", "rows", "columns", "keep", "refuse")
#: A column with more distinct values than this says who a row is, not what kind.
MAX_CLASSES = 30


@dataclass(frozen=True)
class Table:
    """Numbers, names, and columns that may serve as labels or say something of the features.

    ``columns`` has one value per sample, ``feature_columns`` one per feature. ``notes`` are
    sentences on what was decided while reading.
    """

    X: Any
    feature_names: Any = None
    sample_names: Any = None
    columns: dict[str, Any] = field(default_factory=dict)
    feature_columns: dict[str, Any] = field(default_factory=dict)
    labels: Any = None
    labels_name: str | None = None
    notes: tuple[str, ...] = ()

    def noting(self, *sentences: str) -> Table:
        """Add notes."""
        return replace(self, notes=(*self.notes, *sentences))

    def with_features(self, which: Any) -> Table:
        """Only these features (a mask or their order), with everything said of them."""
        names = self.feature_names
        return replace(
            self,
            X=self.X[:, which],
            feature_names=None if names is None else np.asarray(names, dtype=object)[which],
            feature_columns={name: said[which] for name, said in self.feature_columns.items()},
        )


def with_labels(table: Table, wanted: str | None) -> Table:
    """Choose the labels: the column asked for, or the only one that looks like classes."""
    if wanted is not None:
        return _labelled(table, wanted)
    kinds = [name for name, values in table.columns.items() if _are_classes(values)]
    rest = [name for name in table.columns if name not in kinds]
    if rest:
        table = table.noting(f"left out, not numbers: {listed(rest)}")
    if len(kinds) == 1:
        table = table.noting(f"column {kinds[0]!r} is used as labels")
        return replace(table, labels=table.columns[kinds[0]], labels_name=kinds[0])
    if kinds:
        table = table.noting(f"could serve as labels, add --labels NAME: {listed(kinds)}")
    return table


def _labelled(table: Table, wanted: str) -> Table:
    if wanted in table.columns:
        return replace(table, labels=table.columns[wanted], labels_name=wanted)
    if wanted.lower() == "none":
        return table
    names = [] if table.feature_names is None else [str(name) for name in table.feature_names]
    if wanted not in names:
        known = listed([*table.columns, *names])
        msg = f"there is no column {wanted!r} to take labels from; there are {known}"
        raise TableError(msg)
    place = names.index(wanted)
    column = table.X[:, [place]]
    column = column.toarray() if sparse.issparse(column) else np.asarray(column)
    keep = np.arange(len(names)) != place
    values = np.array([f"{v:g}" for v in column.ravel()], dtype=object)
    return replace(table.with_features(keep), labels=values, labels_name=wanted)


def _are_classes(values: Any) -> bool:
    return 2 <= len(set(values)) <= min(MAX_CLASSES, max(2, len(values) // 2))


def without_missing(table: Table, rule: str) -> Table:
    """Do about missing values what ``rule`` says, and say what was done."""
    if sparse.issparse(table.X):
        if not np.isfinite(table.X.data).all():
            msg = "the sparse matrix holds NaN or infinite values; remove them before reading it"
            raise TableError(msg)
        return table
    if table.X.dtype.kind != "f":
        return table
    if np.isinf(table.X).any():
        msg = "the table holds infinite values; replace them by numbers, or leave the cells empty"
        raise TableError(msg)
    missing = np.isnan(table.X)
    n_missing = int(missing.sum())
    if n_missing == 0:
        return table
    table, missing = _without_empty(table, missing)
    amount = f"{n_missing} missing value(s) in {int(missing.any(axis=0).sum())} column(s)"
    if not missing.any():
        return table
    if rule == "refuse":
        msg = f"{amount}; choose what to do about them with --missing mean, rows or columns"
        raise TableError(msg)
    if rule == "keep":
        return table.noting(f"{amount} are left to the method")
    if rule == "mean":
        X = np.where(missing, np.nanmean(table.X, axis=0), table.X)
        return replace(table, X=X).noting(f"{amount} were filled with the mean of their column")
    return _dropped(table, missing, rule, amount)


def _without_empty(table: Table, missing: Any) -> tuple[Table, Any]:
    empty = missing.all(axis=0)
    if not empty.any():
        return table, missing
    names = table.feature_names
    which = listed(np.flatnonzero(empty) if names is None else np.asarray(names)[empty])
    table = table.with_features(~empty)
    return table.noting(f"left out, empty columns: {which}"), missing[:, ~empty]


def _dropped(table: Table, missing: Any, rule: str, amount: str) -> Table:
    if rule == "columns":
        keep = ~missing.any(axis=0)
        reduced = table.with_features(keep)
        left = f"{amount}: {int((~keep).sum())} column(s) left out"
    else:
        keep = ~missing.any(axis=1)
        reduced = replace(
            table,
            X=table.X[keep],
            sample_names=None
            if table.sample_names is None
            else np.asarray(table.sample_names)[keep],
            columns={name: values[keep] for name, values in table.columns.items()},
            labels=None if table.labels is None else table.labels[keep],
        )
        left = f"{amount}: {int((~keep).sum())} row(s) left out"
    if 0 in reduced.X.shape:
        msg = f"{amount}: nothing is left without the {rule} they are in; use --missing mean"
        raise TableError(msg)
    return reduced.noting(left)


def transposed(table: Table, *, described: bool = False) -> Table:
    """Rows as features and columns as samples.

    Columns that are not numbers are refused, unless they may describe the features.
    """
    if table.columns and not described:
        msg = (
            "a table with columns that are not numbers cannot be turned round: "
            f"{listed(table.columns)}"
        )
        raise TableError(msg)
    X = table.X.T.tocsr() if sparse.issparse(table.X) else np.ascontiguousarray(table.X.T)
    turned = replace(
        table,
        X=X,
        feature_names=table.sample_names,
        sample_names=table.feature_names,
        columns={},
        feature_columns=table.columns,
    )
    if not table.columns:
        return turned
    return turned.noting(f"not numbers, so they describe features: {listed(table.columns)}")


def listed(names: Any, at_most: int = 6) -> str:
    """The first few names, and how many follow."""
    names = [str(name) for name in names]
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + more
