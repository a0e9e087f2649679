"""Un-mix factors of similar variance: maximise the lower bound over maps of the scores.

Notation: ``W -> W M``, ``x -> M^-1 x``. Principal components mix factors of similar variance
and coordinate updates un-mix them at the rate noise/signal, that is never. The fit does not
depend on ``M``, the prior does: Givens rotations change ``sum f(w2)`` only, unimodular shears
``w_j += t w_k, x_k -= t x_j`` also ``tr S``, rescaling ``w_j`` also the determinants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from loadstone.covariance.protocol import Array
from loadstone.solvers.variational_bayes.gaussian_rows import GaussianRows, pack
from loadstone.solvers.variational_bayes.priors import Prior

# A quarter turn only swaps columns, so that both ends of a quarter circle are the same point:
# having one of them avoids a tie that rounding would decide.
_ANGLES = np.arange(-6, 7) * np.pi / 26
_SHEARS = np.array([-1.6, -0.8, -0.4, -0.15, -0.05, -0.015, 0.0, 0.015, 0.05, 0.15, 0.4, 0.8, 1.6])
_SCALES = np.linspace(-0.6, 0.6, 13)
_GRIDS = np.array([_ANGLES, _SHEARS, _SCALES])
_N_GOLDEN = 14
_OCTAVES = 60


@dataclass(frozen=True)
class RotationResult:
    """Loadings after a sweep, and by how much the lower bound rose."""

    loadings: GaussianRows
    gain: float


def rotate(
    loadings: GaussianRows, scores: Array, n_samples: float, prior: Prior, active: Array
) -> RotationResult:
    """One sweep of rotations, shears and rescalings; never lowers the bound.

    Parameters
    ----------
    loadings : GaussianRows
        With the moments of every row.
    scores : ndarray of shape (n_components, n_components)
        ``sum_n <x_n x_n'>``.
    n_samples : float
        Number of samples.
    prior : Prior
        Where ``f`` comes from.
    active : ndarray of bool of shape (n_components,)
        Components worth rotating.
    """
    from loadstone.solvers.variational_bayes import rotation_kernels as kernels

    assert loadings.moments is not None
    moments = loadings.moments.copy()
    mapped_scores = scores.copy()
    transform = np.eye(scores.shape[0])
    table, base = _tabulate(prior, loadings.second, kernels.MANTISSA_BITS)
    kernels.rotation_sweep(
        moments,
        mapped_scores,
        transform,
        active,
        float(n_samples),
        _GRIDS,
        _N_GOLDEN,
        table,
        base,
    )
    mapped = _map_loadings(loadings, moments, transform)
    # The sweep saw a table; what counts is the bound itself.
    log_factor = np.linalg.slogdet(transform)[1]
    gain = float(prior.bound_term(mapped.second).sum() - prior.bound_term(loadings.second).sum())
    gain += 0.5 * float(np.trace(scores) - np.trace(mapped_scores))
    gain += float((loadings.mean.shape[0] - n_samples) * log_factor)
    if gain > 0:
        return RotationResult(mapped, gain)
    return RotationResult(loadings, 0.0)


def _tabulate(prior: Prior, second: Array, mantissa_bits: int) -> tuple[Array, int]:
    """``f`` at numbers with short mantissas, and the bits that the first of them has."""
    # No rotation or shear of the grids takes a squared loading beyond ten times its row's sum.
    top = int(np.ceil(np.log2(10.0 * float(second.sum(axis=1).max()))))
    cells = np.arange(_OCTAVES << mantissa_bits)
    octave, part = np.divmod(cells, 1 << mantissa_bits)
    points = np.ldexp(1.0 + part / (1 << mantissa_bits), top - _OCTAVES + octave)
    first = int(points[:1].view(np.int64)[0]) >> (52 - mantissa_bits)
    return prior.bound_term(points), first


def _map_loadings(loadings: GaussianRows, moments: Array, transform: Array) -> GaussianRows:
    """Loadings under ``W -> W M`` given their mapped second moments."""
    mean = loadings.mean @ transform
    diagonal = np.flatnonzero(pack(np.eye(transform.shape[0])))
    variance = np.maximum(moments[diagonal].T - mean**2, 0.0)
    log_factor = np.linalg.slogdet(transform)[1]
    return replace(
        loadings,
        mean=mean,
        variance=variance,
        log_determinants=loadings.log_determinants + 2.0 * log_factor,
        total=transform.T @ loadings.total @ transform,
        moments=moments,
    )
