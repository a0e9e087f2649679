"""SampleCovariance: a covariance that is computed once, kept, added to and taken apart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from loadstone.covariance.checks import check_block_weights, check_rows, out_of_core
from loadstone.covariance.containers import rows_of
from loadstone.covariance.explicit import ExplicitCovariance
from loadstone.covariance.lost_digits import (
    refuse_foreign,
    refuse_large,
    refuse_lost,
    refuse_not_finite_sums,
    refuse_other_names,
)
from loadstone.covariance.moments import Moments
from loadstone.covariance.opened import feature_names
from loadstone.covariance.protocol import Array
from loadstone.covariance.route import moments_of, scaled
from loadstone.covariance.scatter import Scatter, accumulate_scatter


@dataclass(kw_only=True, eq=False, repr=False)
class SampleCovariance:
    """A sample covariance to compute once, keep, add to and take apart.

    It holds sums over rows, not rows: ``n_features x n_features`` numbers however many
    samples there were. Estimators, ``cardinality_path`` and ``certify`` take it in place
    of the data, and their results carry mean, names and number of samples as if they had
    seen the rows. Make one with :meth:`of`.

    Attributes
    ----------
    n_samples : float
        Sum of the sample weights, the number of rows where there are none.
    mean : ndarray of shape (n_features,)
        Weighted mean.
    scatter : ndarray of shape (n_features, n_features)
        ``sum_i w_i (x_i - mean)(x_i - mean)'`` in double precision.
    names : ndarray of str or None
        Names of the features, where the data had them.
    rounding : ndarray of shape (n_features,)
        Size of the rounding in the diagonal of ``scatter``.
    dtype : numpy.dtype
        Precision of the data, which is that of a fit: float32 or float64.

    See Also
    --------
    cardinality_path : Variance against cardinality, from such a covariance too.

    Notes
    -----
    Sums are formed about a point near the mean, and moved to another mean by the formulas of
    Chan, Golub and LeVeque. The mean is kept in two numbers, so that digits survive where
    features lie far from zero. Rounding is kept count of: where a variance has an error above
    1e-10 of itself, ``subtract`` and every fit raise :class:`LostDigitsError`.

    Rows that were never in a covariance can be subtracted from it unnoticed, as long as the
    result looks like a covariance. Keep one covariance for each fold where that matters.

    References
    ----------
    Chan, T. F., Golub, G. H., & LeVeque, R. J. (1983). Algorithms for computing the sample
    variance: analysis and recommendations. The American Statistician, 37(3), 242-247.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from loadstone import SampleCovariance, SparsePCA
    >>> X = load_wine(as_frame=True).data
    >>> C = SampleCovariance.of(X[:100])
    >>> C.partial_fit(X[100:])
    SampleCovariance(178 samples, 13 features)
    >>> model = SparsePCA(n_nonzero=3, standardize=True).fit(C)
    >>> model.transform(X).shape
    (178, 1)
    """

    n_samples: float
    mean: Array
    scatter: Array
    names: Array | None
    rounding: Array
    dtype: np.dtype[Any]
    mean_rest: Array

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None) -> Self:
        """The covariance of the rows of ``X``, in one pass.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
            Data, or a data frame of numbers; one row is enough to begin with.
        sample_weight : array-like of shape (n_samples,), optional
            How many samples each row stands for.

        Returns
        -------
        SampleCovariance
        """
        (whole,) = cls.of_parts(X, sample_weight)
        return whole

    @classmethod
    def of_parts(
        cls,
        X: Any,
        sample_weight: Any = None,
        parts: Any = None,
        n_parts: int = 1,
        *,
        exact: bool = True,
    ) -> list[Self]:
        """One covariance for each part of the rows, such as folds, in one pass.

        Parameters
        ----------
        X, sample_weight : data and weights
            As in :meth:`of`.
        parts : array-like of int of shape (n_samples,), optional
            The part that each row belongs to, from 0; -1 for none.
        n_parts : int, default=1
            Number of parts.
        exact : bool, default=True
            ``False``: products of single-precision rows in single precision, enough for a fit.

        Returns
        -------
        list of SampleCovariance
        """
        names, checked = feature_names(X), check_rows(X, min_samples=1)
        rows = rows_of(checked)
        refuse_large(rows.shape[1], n_parts)
        weights = check_block_weights(sample_weight, checked)
        part = None if parts is None else np.asarray(parts)
        found = accumulate_scatter(rows, weights, part, n_parts, exact=exact)
        for scatter in found:
            refuse_not_finite_sums(scatter, names, seen=not out_of_core(checked))
        return [cls._from(scatter, names, rows.dtype) for scatter in found]

    @classmethod
    def _from(cls, sums: Scatter, names: Array | None, dtype: np.dtype[Any]) -> Self:
        return cls(
            n_samples=sums.n_samples,
            mean=sums.mean,
            scatter=sums.matrix,
            names=names,
            rounding=sums.rounding,
            dtype=dtype,
            mean_rest=sums.mean_rest,
        )

    @property
    def _sums(self) -> Scatter:
        return Scatter(
            n_samples=self.n_samples,
            mean=self.mean,
            mean_rest=self.mean_rest,
            matrix=self.scatter,
            rounding=self.rounding,
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.mean.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_samples:.10g} samples, {self.n_features} features)"

    def partial_fit(self, X: Any, sample_weight: Any = None) -> Self:
        """Add the rows of ``X`` to this covariance, in place.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap, Dask array} of shape (n_samples, n_features)
            More rows of the same features.
        sample_weight : array-like of shape (n_samples,), optional
            How many samples each row stands for.

        Returns
        -------
        self : SampleCovariance
            As it was before if the rows are refused.
        """
        vars(self).update(vars(self.merge(type(self).of(X, sample_weight))))
        return self

    def merge(self, other: SampleCovariance) -> Self:
        """The covariance of the rows of both; ``a + b`` does the same.

        Parameters
        ----------
        other : SampleCovariance
            Of other rows of the same features.

        Returns
        -------
        SampleCovariance
            A new one.
        """
        names = self._common_names(other)
        sums = self._sums + other._sums
        refuse_not_finite_sums(sums, names, seen=True)
        return self._from(sums, names, np.result_type(self.dtype, other.dtype))

    def subtract(self, part: SampleCovariance) -> Self:
        """The covariance of the rows that are not in ``part``; ``a - b`` does the same.

        Parameters
        ----------
        part : SampleCovariance
            Of some of the rows of this one.

        Returns
        -------
        SampleCovariance
            A new one.

        Raises
        ------
        LostDigitsError
            Where what is left of a variance is not known to ten digits.
        ValueError
            Where what is left is no covariance, so that the part was never in it.
        """
        names = self._common_names(part)
        if not self.n_samples - part.n_samples > 1:
            msg = (
                f"{part.n_samples:.10g} of {self.n_samples:.10g} samples cannot be taken away: more "
                "than 1 must be left to vary at all"
            )
            raise ValueError(msg)
        whole = self._sums
        rest = whole - part._sums
        quiet = np.flatnonzero(whole.unvaried)
        rest.matrix[quiet] = 0.0
        rest.matrix[:, quiet] = 0.0
        refuse_foreign(rest, names)
        refuse_lost(rest, quiet, names)
        return self._from(rest, names, self.dtype)

    def __add__(self, other: object) -> Self:
        return self.merge(other) if isinstance(other, SampleCovariance) else NotImplemented

    def __sub__(self, part: object) -> Self:
        return self.subtract(part) if isinstance(part, SampleCovariance) else NotImplemented

    def _common_names(self, other: SampleCovariance) -> Array | None:
        if self.n_features != other.n_features:
            msg = (
                f"covariances of {self.n_features} and {other.n_features} features do not go "
                "together; compute both from the same features"
            )
            raise ValueError(msg)
        if self.names is None or other.names is None:
            return other.names if self.names is None else self.names
        refuse_other_names(self.names, other.names)
        return self.names

    def moments(self, *, standardize: bool = False) -> Moments:
        """Number of samples, means, variances, scales and constant features.

        Parameters
        ----------
        standardize : bool, default=False
            Whether features are scaled to unit variance.

        Returns
        -------
        Moments
        """
        if not self.n_samples > 1:
            msg = (
                f"n_samples={self.n_samples:.10g} is too few for a covariance; more than 1 is "
                "required to vary at all. Add rows with partial_fit"
            )
            raise ValueError(msg)
        variance = self.scatter.diagonal() / (self.n_samples - 1)
        return moments_of(self.n_samples, self.mean, variance, self.dtype, standardize=standardize)

    def covariance(self, *, standardize: bool = False) -> ExplicitCovariance:
        """What algorithms work with: ``scatter / (n_samples - 1)``.

        Parameters
        ----------
        standardize : bool, default=False
            Whether features are scaled to unit variance.

        Returns
        -------
        ExplicitCovariance
            Its ``matrix`` has the precision of the data.

        Raises
        ------
        LostDigitsError
            Where a variance is not known to ten digits.
        """
        moments = self.moments(standardize=standardize)
        refuse_lost(self._sums, np.flatnonzero(moments.constant), self.names, self.dtype)
        matrix = scaled(self.scatter / (self.n_samples - 1), moments, self.dtype)
        return ExplicitCovariance(matrix, self.n_samples)

    def save(self, path: Path | str) -> Path:
        """Save it to a file of arrays and text, without pickle.

        Parameters
        ----------
        path : path-like
            Where to; by custom it ends in ``.npz``. An existing file is replaced once the
            new one is complete.

        Returns
        -------
        Path
            The file.
        """
        from loadstone.covariance.sample_file import save_sample

        return save_sample(vars(self), path)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Load what :meth:`save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        SampleCovariance
            As it was saved.

        Raises
        ------
        CovarianceFileError
            If the file is missing, damaged, of another kind, or from a newer loadstone.
        """
        from loadstone.covariance.sample_file import load_sample

        return cls(**load_sample(path))
