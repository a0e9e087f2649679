"""A table of numbers with what belongs to it, whatever file it came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from loadstone.files.errors import TableError

#: What can be done about missing values.
MISSING = ("mean", "rows", "columns", "keep", "refuse")


@dataclass(frozen=True)
class Table:
    """Numbers with their names, and what else a file says of samples and features.

    Attributes
    ----------
    X : ndarray, memmap or CSR matrix of shape (n_samples, n_features)
        The numbers.
    feature_names : ndarray of str or None
        Names of the columns of ``X``, where the file has them.
    sample_names : ndarray of str or None
        Names of its rows.
    columns : dict of str to ndarray
        Further columns, which are not numbers: one value per sample.
    feature_columns : dict of str to ndarray
        What the file says of the features: one value per feature.
    labels : ndarray of str or None
        Classes of the samples, empty for those without one.
    labels_name : str or None
        The column they come from.
    notes : tuple of str
        Sentences on what was decided while reading.
    weights : ndarray of float or None
        How many samples each row stands for.

    See Also
    --------
    loadstone.read_table : Makes one from a file.
    """

    X: Any
    feature_names: Any = None
    sample_names: Any = None
    columns: dict[str, Any] = field(default_factory=dict)
    feature_columns: dict[str, Any] = field(default_factory=dict)
    labels: Any = None
    labels_name: str | None = None
    notes: tuple[str, ...] = ()
    weights: Any = None

    def __str__(self) -> str:
        n_samples, n_features = self.X.shape
        return "\n- ".join([f"{n_samples} samples of {n_features} features", *self.notes])

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

    def with_samples(self, which: Any) -> Table:
        """Only these samples (a mask or their order), with everything said of them."""
        names = self.sample_names
        return replace(
            self,
            X=self.X[which],
            sample_names=None if names is None else np.asarray(names, dtype=object)[which],
            columns={name: values[which] for name, values in self.columns.items()},
            labels=None if self.labels is None else self.labels[which],
            weights=None if self.weights is None else self.weights[which],
        )

    def to_frame(self) -> Any:
        """The numbers as a pandas data frame, with the names of samples and features.

        Returns
        -------
        pandas.DataFrame
            A sparse matrix becomes a frame of sparse columns.
        """
        import pandas as pd

        make = pd.DataFrame.sparse.from_spmatrix if sparse.issparse(self.X) else pd.DataFrame
        return make(self.X, index=self.sample_names, columns=self.feature_names)


def without_missing(table: Table, rule: str, *, new: bool = False) -> Table:
    """Do about missing values what ``rule`` says, and say what was done.

    An empty column of ``new`` samples is not left out: a model knows it.
    """
    missing = _missing(table)
    if missing is not None and not new:
        table, missing = _without_empty(table, missing)
    if missing is None or not missing.any():
        return table
    amount = _amount_of(missing)
    if rule == "refuse":
        msg = (
            f"{amount}: {_columns_with(table, missing)}; missing='mean' fills them, missing='rows' "
            "and missing='columns' leave out what they are in"
        )
        raise TableError(msg)
    if rule == "keep":
        return table.noting(f"{amount} are left to the method")
    if rule == "mean":
        X = np.where(missing, _means(table, missing), table.X)
        return replace(table, X=X).noting(f"{amount} were filled with the mean of their column")
    return _dropped(table, missing, rule, amount)


def filled(table: Table, means: Any) -> Table:
    """The table with missing values of each column filled with its entry of ``means``."""
    missing = _missing(table)
    if missing is None or not missing.any():
        return table
    with_what = "the means of the data that the model was fitted to"
    if not np.any(means):
        with_what = "zeros, the only means that the model knows"
    note = f"{_amount_of(missing)} were filled with {with_what}"
    return replace(table, X=np.where(missing, means, table.X)).noting(note)


def _missing(table: Table) -> Any:
    """Which values are missing, ``None`` where none can be; infinite ones are refused."""
    if sparse.issparse(table.X):
        if not np.isfinite(table.X.data).all():
            msg = "the sparse matrix holds NaN or infinite values; remove them before reading it"
            raise TableError(msg)
        return None
    if table.X.dtype.kind != "f":
        return None
    _refuse_infinite(table)
    return np.isnan(table.X)


def _amount_of(missing: Any) -> str:
    """How many values are missing, and in how many columns."""
    return f"{int(missing.sum())} missing value(s) in {int(missing.any(axis=0).sum())} column(s)"


def _refuse_infinite(table: Table) -> None:
    """Say where values are infinite."""
    if np.isinf(table.X).any():
        infinite = np.isinf(table.X)
        msg = (
            f"the table holds {int(infinite.sum())} infinite value(s) in {_columns_with(table, infinite)}; "
            "replace them by numbers, or leave the cells empty"
        )
        raise TableError(msg)


def _means(table: Table, missing: Any) -> Any:
    """Of each column over the values that are there, by the weights of their rows."""
    weights = np.ones(table.X.shape[0]) if table.weights is None else table.weights
    counted = np.where(missing, 0.0, weights[:, np.newaxis])
    totals = counted.sum(axis=0)
    sums = np.where(missing, 0.0, table.X * counted).sum(axis=0)
    # Where the only values are those of rows that do not count, any of them will do.
    return np.where(
        totals > 0, sums / np.where(totals > 0, totals, 1.0), np.nanmean(table.X, axis=0)
    )


def _columns_with(table: Table, which: Any) -> str:
    places = np.flatnonzero(which.any(axis=0))
    names = places if table.feature_names is None else np.asarray(table.feature_names)[places]
    return f"column(s) {listed(names)}"


def _without_empty(table: Table, missing: Any) -> tuple[Table, Any]:
    empty = missing.all(axis=0)
    if not empty.any():
        return table, missing
    names = table.feature_names
    which = listed(np.flatnonzero(empty) if names is None else np.asarray(names)[empty])
    if empty.all():
        msg = f"all columns of numbers are empty: {which}; name a file that holds numbers"
        raise TableError(msg)
    table = table.with_features(~empty)
    return table.noting(f"left out, empty columns: {which}"), missing[:, ~empty]


def _dropped(table: Table, missing: Any, rule: str, amount: str) -> Table:
    if rule == "columns":
        keep = ~missing.any(axis=0)
        reduced = table.with_features(keep)
        left = f"{amount}: {int((~keep).sum())} column(s) left out"
    else:
        keep = ~missing.any(axis=1)
        reduced = table.with_samples(keep)
        left = f"{amount}: {int((~keep).sum())} row(s) left out"
    if 0 in reduced.X.shape:
        msg = f"{amount}: nothing is left without the {rule} they are in; use missing='mean'"
        raise TableError(msg)
    return reduced.noting(left)


def transposed(table: Table, *, described: bool = False) -> Table:
    """Rows as features and columns as samples.

    Columns that are not numbers are refused, unless they may describe the features.
    """
    if table.columns and not described:
        msg = (
            "a table with columns that are not numbers cannot be turned round: "
            f"{listed(table.columns)}; drop={','.join(list(table.columns)[:6])!r} leaves them out, and "
            "index='NAME' is for the one that names the features"
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
