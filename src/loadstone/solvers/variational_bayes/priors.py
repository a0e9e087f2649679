"""Scale-mixture priors on single loadings: ``w ~ N(0, z)``, ``z`` from one of three laws.

Notation: ``w2 = <w^2>``, ``<z>`` and ``<1/z>`` are expectations under the optimal ``q(z)``
for that ``w2`` (Sections 3 and 5 of Guan & Dy 2009, corrected). ``bound_term`` is what one
loading adds to the lower bound once ``q(z)`` is integrated out: ``ln p(w)`` with ``w^2``
read as ``w2``, a convex function of ``w2``.

A fourth prior is one more frozen dataclass with the members of `Prior`, entered in `PRIORS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.variational_bayes.bessel import bessel_ratio_and_log

# Below and above these no hyperparameter is let go: squares and ratios stay finite.
_SMALLEST, _LARGEST = 1e-100, 1e100
_SMALLEST_ARGUMENT = 1e-290


class Prior(Protocol):
    """What the model asks of a prior on loadings; fields of the class are hyperparameters.

    Attributes
    ----------
    exact_zeros : bool
        Whether removing a loading altogether can raise the bound.
    zero_term : float
        What a removed loading leaves in the bound.
    warm_up : str or None
        Prior to search with first, where this one would hold loadings where they start.
    """

    exact_zeros: bool
    zero_term: float
    warm_up: str | None

    @classmethod
    def start(cls, second: Array) -> Prior:
        """A first guess from the squared loadings of the start."""
        ...

    def expectations(self, second: Array) -> tuple[Array, Array]:
        """``<z>`` and ``<1/z>`` for every ``w2``."""
        ...

    def update_hyperparameters(
        self, variance: Array, precision: Array, fixed: frozenset[str]
    ) -> Prior:
        """Type-II maximum likelihood given ``<z>`` and ``<1/z>``; ``fixed`` fields stay."""
        ...

    def bound_term(self, second: Array) -> Array:
        """What every loading adds to the lower bound, elementwise."""
        ...


@dataclass(frozen=True)
class Laplace:
    """Exponential ``z`` with mean ``lam``: Eqs. 1, 13, 20 and 23.

    Attributes
    ----------
    lam : float
        Prior variance of a loading; smaller is sparser.
    """

    lam: float
    exact_zeros = False
    zero_term = 0.0
    warm_up = None

    @classmethod
    def start(cls, second: Array) -> Laplace:
        """The maximum-likelihood ``lam`` of the given loadings."""
        return cls(within_range(2.0 * float(np.mean(np.sqrt(second))) ** 2))

    def expectations(self, second: Array) -> tuple[Array, Array]:
        """``(lam + sqrt(2 lam w2))/2`` and ``sqrt(2/(lam w2))``."""
        root = np.sqrt(np.maximum(second, _SMALLEST))
        return (
            0.5 * (self.lam + np.sqrt(2.0 * self.lam) * root),
            np.sqrt(2.0 / self.lam) / root,
        )

    def update_hyperparameters(
        self,
        variance: Array,
        precision: Array,
        fixed: frozenset[str],
    ) -> Laplace:
        """``lam`` is the mean of ``<z>`` (Eq. 23)."""
        return self if "lam" in fixed else Laplace(within_range(float(np.mean(variance))))

    def bound_term(self, second: Array) -> Array:
        """``-ln(2 lam)/2 - sqrt(2 w2/lam)``."""
        result: Array = -0.5 * np.log(2.0 * self.lam) - np.sqrt(2.0 * second / self.lam)
        return result


@dataclass(frozen=True)
class InverseGaussian:
    """Inverse-Gaussian ``z`` with mean ``b`` and shape ``a``: Eqs. 24-28.

    Attributes
    ----------
    a : float
        Shape; small against ``b`` means a sharp spike at zero with heavy tails.
    b : float
        Prior variance of a loading.
    """

    a: float
    b: float
    exact_zeros = False
    zero_term = 0.0
    warm_up = None

    @classmethod
    def start(cls, second: Array) -> InverseGaussian:
        """Mean and shape both at the mean squared loading."""
        mean = within_range(float(np.mean(second)))
        return cls(a=mean, b=mean)

    def _argument(self, total: Array) -> Array:
        result: Array = np.maximum(np.sqrt(self.a) / self.b * np.sqrt(total), _SMALLEST_ARGUMENT)
        return result

    def expectations(self, second: Array) -> tuple[Array, Array]:
        """Moments of a generalised inverse Gaussian of order -1."""
        total = self.a + second
        ratio, _ = bessel_ratio_and_log(self._argument(total))
        rate = np.sqrt(self.a) / self.b / np.sqrt(total)
        return ratio / rate, rate * ratio + 2.0 / total

    def update_hyperparameters(
        self, variance: Array, precision: Array, fixed: frozenset[str]
    ) -> InverseGaussian:
        """``b`` is the mean of ``<z>``; ``1/a`` what ``<1/z>`` exceeds it by (Eqs. 27, 28)."""
        mean = float(np.mean(variance))
        b = self.b if "b" in fixed else within_range(mean)
        if "a" in fixed:
            return replace(self, b=b)
        excess = float(np.mean(precision)) + (mean / b - 2.0) / b
        return InverseGaussian(a=within_range(1.0 / max(excess, 1e-12 / b)), b=b)

    def bound_term(self, second: Array) -> Array:
        """``ln p(w)`` with ``w^2`` read as ``w2``; written to survive any size of ``w2/a``."""
        total = self.a + second
        _, log_k1e = bessel_ratio_and_log(self._argument(total))
        decay = second / self.b / (1.0 + np.sqrt(total / self.a))
        result: Array = (
            np.log(self.a) - np.log(np.pi * self.b) - decay - 0.5 * np.log(total) + log_k1e
        )
        return result


@dataclass(frozen=True)
class Jeffreys:
    """``p(z) = 1/z`` (Eqs. 29-31): no hyperparameter, improper, and exact zeros.

    The bound equals the evidence of automatic relevance determination for single loadings.
    """

    exact_zeros = True
    warm_up = "inverse_gaussian"
    # Entropy and prior of a loading that shrinks to zero together with its uncertainty.
    zero_term = 0.5 * float(np.log(2.0 * np.pi) + 1.0)

    @classmethod
    def start(cls, second: Array) -> Jeffreys:
        """Nothing to guess."""
        return cls()

    def expectations(self, second: Array) -> tuple[Array, Array]:
        """``<z>`` is infinite; ``<1/z> = 1/w2``."""
        return np.full_like(second, np.inf), 1.0 / np.maximum(second, _SMALLEST)

    def update_hyperparameters(
        self,
        variance: Array,
        precision: Array,
        fixed: frozenset[str],
    ) -> Jeffreys:
        """Nothing to learn."""
        return self

    def bound_term(self, second: Array) -> Array:
        """``-ln(w2)/2``."""
        return -0.5 * np.log(np.maximum(second, _SMALLEST))


PRIORS: dict[str, type[Laplace] | type[InverseGaussian] | type[Jeffreys]] = {
    "inverse_gaussian": InverseGaussian,
    "laplace": Laplace,
    "jeffreys": Jeffreys,
}


def within_range(value: float) -> float:
    """A hyperparameter moved to where its squares and ratios are finite."""
    return float(np.clip(value, _SMALLEST, _LARGEST))
