"""The evaluator: what a stored joint proof says of all components together.

Notation: ``N = LL' + (P + P')/2 - diag tau`` and ``w_i(k)`` are those of ``bound_dual``, so that
``x'Nx <= sum of w_i(k) over the support`` for every x of at most k features; ``top_k`` is the
largest such sum. ``KF_r`` is the sum of the r largest eigenvalues. With ``M = S - N``:

========  =============================================================================
theorem   nothing exceeds
========  =============================================================================
KF        ``KF_r(S)``
A         ``KF_r(M) + max sum_t sum_{T_t} w_i(k_t)`` over disjoint T_t; any prices p_t >= 0
          prove ``sum_t k_t p_t + sum_i max_t (w_i(k_t) - p_t)_+`` for the maximum
B         ``KF_r(M) + sum_t top_{k_t}``, for orthonormal components
C         r times what one component can have alone; see ``joint_alone``
D         ``sum_t mu_t lambda_t(S, K)``, ``K = cI + N`` positive definite,
          ``mu_t = c + top_{k_t}`` in descending order; for disjoint components the sum of
          the t largest mu may be taken as ``tc`` + the best sum over all their places
DP        the best sum over disjoint supports, each with its own largest eigenvalue
========  =============================================================================

In B and D the matrix N or K may also be given as it is: then every support is tried. The
proofs are on the page on certificates. No optimiser is imported here, on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loadstone.certificates.bound_dual import Dual, in_range
from loadstone.certificates.bound_eigenvalue import UNIT, gamma, largest_row_sum
from loadstone.certificates.bound_rows import best_squares, bracket, counted_squares
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.joint_assignment import best_disjoint_sum, can_try_disjoint
from loadstone.certificates.joint_eigenvalues import below_zero, ky_fan, pencil_sums, up
from loadstone.certificates.joint_problem import ADJUSTED, SUM, JointProblem, local
from loadstone.certificates.joint_supports import can_try_all, largest_on_supports
from loadstone.certificates.problem import Array, Indices, SupportProblem, sum_of_best

if TYPE_CHECKING:
    from loadstone.certificates.certificate import Certificate

#: Theorems by quantity and relation; what bounds a sum bounds the adjusted variance too.
_SUMS = {
    "disjoint": ("KF", "A", "B", "C", "DP"),
    "strict": ("KF", "B", "C"),
    "uncorrelated": ("KF", "C", "D"),
}
THEOREMS = ("KF", "A", "B", "C", "D", "DP")
#: Differences of this relative size are rounding.
NEGLIGIBLE = 1e-13


def applicable(quantity: str, relation: str) -> tuple[str, ...]:
    """The theorems that say something about a quantity under a relation."""
    sums = _SUMS.get(relation, ())
    if quantity == SUM:
        return sums
    return (
        tuple(t for t in THEOREMS if t in {"KF", "C", "D", *sums}) if quantity == ADJUSTED else ()
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class JointProof:
    """Numbers that prove a joint bound; any finite ones do.

    Attributes
    ----------
    theorem : {"KF", "A", "B", "C", "D", "DP"}
        Which inequality they are put into.
    dual : Dual, optional
        P, tau and L of A, B and D.
    matrix : ndarray of shape (m, m), optional
        N of B or K of D in place of a dual: every support is tried.
    level : float
        c of D.
    prices : ndarray of shape (r,), optional
        p_t of A.
    alone : Certificate, optional
        Of one component, for C.
    """

    theorem: str
    dual: Dual | None = None
    matrix: Array | None = None
    level: float = 0.0
    prices: Array | None = None
    alone: Certificate | None = None

    def describe(self) -> str:
        """The argument in words."""
        if self.theorem == "KF":
            return "principal components"
        if self.theorem == "DP":
            return "all disjoint supports tried"
        if self.alone is not None:
            return f"theorem C, none alone has more than {self.alone.upper_bound:.6g}"
        how = "dual bound" if self.matrix is None else "all supports tried"
        return f"theorem {self.theorem}, {how}"


def joint_bound(matrix: Array, problem: JointProblem, quantity: str, proof: JointProof) -> float:
    """The bound that ``proof`` gives, rounded upwards.

    Parameters
    ----------
    matrix : ndarray of shape (m, m)
        The covariance on ``problem.features``, symmetric.
    problem : JointProblem
        What competes.
    quantity : str
        ``ADJUSTED`` or ``SUM``.
    proof : JointProof
        The numbers.
    """
    allowed = applicable(quantity, problem.relation)
    if proof.theorem not in allowed:
        msg = (
            f"theorem {proof.theorem!r} says nothing about the {quantity} of components with "
            f"relation {problem.relation!r}"
        )
        raise CertificateError(msg)
    _refuse_invalid(problem, proof)
    if proof.theorem == "DP":
        return best_disjoint_sum(matrix, problem).bound
    below = 0.0
    if quantity == ADJUSTED or problem.relation == "uncorrelated":
        below = below_zero(matrix)
    if proof.theorem == "KF":
        return up(ky_fan(matrix, 0.0, problem.count) + problem.count * below)
    pieces = pieces_of(problem, proof)
    if proof.theorem == "D":
        return _theorem_d(matrix, problem, pieces, below)
    rest = ky_fan(matrix - pieces.matrix, pieces.error_beside(matrix), problem.count)
    added = pieces.priced if proof.theorem == "A" else sum(pieces.limits)
    return up(rest + added + problem.count * below)


def _refuse_invalid(problem: JointProblem, proof: JointProof) -> None:
    """Raise unless the numbers have the right shapes and kinds and are finite."""
    size = problem.features.size
    if proof.dual is not None:
        refuse_dual(proof.dual, problem.features)
    if proof.matrix is not None:
        _refuse_numbers(proof.matrix, "matrix", (size, size))
    if proof.prices is not None:
        _refuse_numbers(proof.prices, "prices", (problem.count,))
    if not in_range(np.asarray(proof.level)):
        msg = f"the level {proof.level!r} of a joint proof is not finite, or beyond range"
        raise CertificateError(msg)
    if proof.theorem in {"A", "B", "D"} and (proof.dual is None) == (proof.matrix is None):
        msg = f"theorem {proof.theorem} needs either a dual or a matrix"
        raise CertificateError(msg)
    if proof.theorem == "A" and (proof.dual is None or proof.prices is None):
        msg = "theorem A needs a dual and prices"
        raise CertificateError(msg)
    if proof.theorem == "DP" and not can_try_disjoint(problem):
        msg = "there are too many supports to try all disjoint ones"
        raise CertificateError(msg)


def refuse_dual(dual: Dual, features: Indices) -> None:
    """Raise unless a dual holds finite numbers about these features, in double precision."""
    if not np.array_equal(dual.features, features):
        msg = "the dual of a joint proof must be about the features of its problem"
        raise CertificateError(msg)
    size = features.size
    _refuse_numbers(dual.pairing, "pairing", (size, size))
    _refuse_numbers(dual.shift, "shift", (size,))
    columns = dual.factor.shape[1] if dual.factor.ndim == 2 else 0
    _refuse_numbers(dual.factor, "factor", (size, columns))


def _refuse_numbers(part: Array, name: str, shape: tuple[int, ...]) -> None:
    if part.dtype != np.float64 or part.shape != shape or not in_range(part):
        msg = f"{name} of a joint proof must be {shape} finite numbers in double precision"
        raise CertificateError(msg)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pieces:
    """What a proof says about the part of a quadratic form that sparsity limits.

    Attributes
    ----------
    matrix : ndarray of shape (m, m)
        N, or K for theorem D, as computed.
    error : ndarray of shape (m, m) or float
        How far its true entries may be.
    limits : list of float
        Largest ``x'Nx`` (or ``x'Kx``) of each component.
    blocks : list of float
        Limits for the sums of the 1, 2, ... largest of them, where components are disjoint.
    priced : float
        The limit by prices of theorem A.
    """

    matrix: Array
    error: Array | float
    limits: list[float]
    blocks: list[float]
    priced: float = np.inf

    def error_beside(self, matrix: Array) -> Array:
        """The error of ``matrix - self.matrix``."""
        return np.asarray(self.error + gamma(2) * (np.abs(matrix) + np.abs(self.matrix)))


def pieces_of(problem: JointProblem, proof: JointProof) -> Pieces:
    """N or K with limits for each component."""
    kinds, which = problem.distinct()
    places = [local(kind, problem.features) for kind in kinds]
    if proof.matrix is not None:
        given = (proof.matrix + proof.matrix.T) / 2.0
        # Halving and adding equal numbers is exact, so that only one of both errs.
        error = gamma(1) * np.abs(given)
        if not all(can_try_all(kind) for kind in kinds):
            msg = "there are too many supports to try all of them"
            raise CertificateError(msg)
        norm = largest_row_sum(error)
        found = [largest_on_supports(given, norm, kind) for kind in places]
        limits = [found[j] for j in which]
        return Pieces(matrix=given, error=error, limits=limits, blocks=_running(limits))
    assert proof.dual is not None
    level = proof.level if proof.theorem == "D" else 0.0
    inner, error = dual_matrix(proof.dual, level)
    terms = [terms_of(proof.dual, kind) for kind in places]
    limits = [
        up(sum_of_best(part[kind.features], kind) + level, kind.n_nonzero + 2)
        for part, kind in zip(terms, places, strict=True)
    ]
    each = [limits[j] for j in which]
    every = np.array([terms[j] for j in which])
    return Pieces(
        matrix=inner,
        error=error,
        limits=each,
        blocks=_blocks(every, problem, level, each),
        priced=np.inf if proof.prices is None else _priced(every, problem.sizes, proof.prices),
    )


def _running(limits: list[float]) -> list[float]:
    """Sums of the 1, 2, ... largest limits."""
    ordered = np.sort(np.asarray(limits))[::-1]
    return [up(float(total), len(limits)) for total in np.cumsum(ordered)]


def _blocks(terms: Array, problem: JointProblem, level: float, limits: list[float]) -> list[float]:
    """Limits for the sums of the largest ``x_t'Kx_t``; disjoint components share no place."""
    running = _running(limits)
    if problem.relation != "disjoint":
        return running
    ordered = np.sort(terms.max(axis=0))[::-1]
    sizes = np.cumsum(np.sort(problem.sizes)[::-1])
    shared = [
        up(float(ordered[:size].sum()) + (t + 1) * level, int(size) + t + 2)
        for t, size in enumerate(sizes)
    ]
    return [min(pair) for pair in zip(running, shared, strict=True)]


def _priced(terms: Array, sizes: tuple[int, ...], prices: Array) -> float:
    """``sum_t k_t p_t + sum_i max_t (w_i(k_t) - p_t)_+``."""
    prices = np.maximum(prices, 0.0)
    over = np.maximum(terms - prices[:, None], 0.0).max(axis=0)
    return up(float(np.dot(sizes, prices) + over.sum()), terms.size + len(sizes))


def dual_matrix(dual: Dual, level: float = 0.0) -> tuple[Array, Array]:
    """``level I + LL' + (P + P')/2 - diag tau``, and how far its entries may be off."""
    pairing = np.array(dual.pairing)
    np.fill_diagonal(pairing, 0.0)
    absolute = np.abs(dual.factor)
    inner = dual.factor @ dual.factor.T + (pairing + pairing.T) / 2.0
    size = absolute @ absolute.T + (np.abs(pairing) + np.abs(pairing.T)) / 2.0
    at = np.diag_indices(dual.shift.size)
    inner[at] += level - dual.shift
    size[at] += abs(level) + np.abs(dual.shift)
    return (inner + inner.T) / 2.0, gamma(dual.factor.shape[1] + 6) * size


def terms_of(dual: Dual, place: SupportProblem) -> Array:
    """w_i of every feature of the dual, rounded upwards; zero where it may not be used.

    ``place`` speaks in positions among the features of the dual.
    """
    at: Indices = place.features
    squares = counted_squares(dual.pairing[np.ix_(at, at)], nonnegative=place.nonnegative)
    np.fill_diagonal(squares, 0.0)
    reach, _ = best_squares(squares, place.forced, place.free_room())
    found = np.zeros(dual.shift.size)
    found[at] = bracket(reach, dual.shift[at]) + np.square(dual.factor[at]).sum(axis=1)
    width = dual.shift.size + dual.factor.shape[1] + 16
    return np.asarray(found * (1.0 + 4.0 * width * UNIT) + np.finfo(np.float64).tiny)


def _theorem_d(matrix: Array, problem: JointProblem, pieces: Pieces, below: float) -> float:
    """``sum_t mu_t lambda_t``, summed by parts: ``sum_t (mu_t - mu_{t+1}) KF_t``."""
    totals = _concave([0.0, *pieces.blocks])
    steps = [*np.diff(totals), 0.0]
    # The steps are rounded, and must add up to no less than the totals.
    steps[0] += 8.0 * problem.count * UNIT * max(totals)
    if not steps[0] > 0.0:
        return np.inf
    size = matrix.shape[0]
    drops = [max(steps[t] - steps[t + 1], 0.0) for t in range(problem.count)]
    for t in range(problem.count - 1):
        if drops[t] <= NEGLIGIBLE * steps[0]:
            # KF_t is at most KF_r, so that rounding need not cost an eigenproblem.
            drops[-1], drops[t] = drops[-1] + drops[t], 0.0
    counts = [t + 1 for t in range(problem.count) if drops[t] > 0.0]
    sums = pencil_sums(
        matrix + below * np.eye(size),
        gamma(2) * np.abs(matrix) + gamma(2) * below * np.eye(size),
        pieces.matrix,
        pieces.error,
        [min(count, size) for count in counts],
    )
    if sums is None:
        return np.inf
    total = sum(up(drops[count - 1], 8) * part for count, part in zip(counts, sums, strict=True))
    return up(float(total), 4 * problem.count + 8)


def _concave(totals: list[float]) -> list[float]:
    """The smallest concave sequence above ``totals``, whose first entry is kept."""
    hull = [0]
    for t in range(1, len(totals)):
        while len(hull) > 1 and (totals[hull[-1]] - totals[hull[-2]]) * (t - hull[-1]) <= (
            totals[t] - totals[hull[-1]]
        ) * (hull[-1] - hull[-2]):
            hull.pop()
        hull.append(t)
    return [float(value) for value in np.interp(range(len(totals)), hull, np.asarray(totals)[hull])]
