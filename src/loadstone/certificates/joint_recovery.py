"""The evaluator of theorem E: what one more component can add to a regression on the scores.

Notation: ``S_t = S - SW(W'SW)^-1 W'S`` is what the earlier components W leave of S. A next one
recovers ``w'S_t^2 w / w'S_t w`` more, and

    ``w'S_t^2 w / w'S_t w <= theta`` for all sparse w  if and only if  ``max w'(S_t^2 - theta S_t)w <= 0``,

which is a bound for one component in an indefinite matrix. Where it is proven up to b > 0 only,
components whose scores keep at least the variance v beyond the earlier ones recover at most
``theta + b/v``; v is a millionth of the largest variance that is left.
"""

from __future__ import annotations

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.bound_eigenvalue import (
    UNIT,
    eigenvalue_bound,
    gamma,
    largest_row_sum,
)
from loadstone.certificates.certificate_about import refuse_entries
from loadstone.certificates.certificate_error import CertificateError
from loadstone.certificates.joint_bound import dual_matrix, refuse_dual, terms_of
from loadstone.certificates.joint_eigenvalues import up
from loadstone.certificates.joint_supports import can_try_all, largest_on_supports
from loadstone.certificates.problem import Array, SupportProblem, sum_of_best

#: Share of the largest variance left that the scores of a rival must keep.
FLOOR = 1e-6
#: Entries of S whose squares are entries of a form that is squared in turn.
LARGEST_SQUARED = 1e60


def left_after(matrix: Array, earlier: Array) -> tuple[Array, float]:
    """``S_t`` as computed, and a limit of the norm of its error."""
    if earlier.shape[1] == 0:
        return matrix, 0.0
    U = matrix @ earlier
    G = earlier.T @ U
    values = np.linalg.eigvalsh((G + G.T) / 2.0)
    if not values[0] > 1e-10 * values[-1]:
        msg = "the earlier components repeat each other, so that nothing is said of the next one"
        raise CertificateError(msg)
    solved = np.linalg.solve((G + G.T) / 2.0, U.T)
    left = matrix - U @ solved
    condition = float(values[-1] / values[0])
    size = np.abs(matrix) + np.abs(U) @ np.abs(solved)
    error = 16.0 * (sum(earlier.shape) + 8) * condition * UNIT * largest_row_sum(size)
    return (left + left.T) / 2.0, error


def recovery_form(left: Array, error: float, theta: float) -> tuple[Array, float]:
    """``S_t^2 - theta S_t``, and a limit of the norm of its error."""
    absolute = np.abs(left)
    form = left @ left - theta * left
    rounding = largest_row_sum(gamma(left.shape[0] + 4) * (absolute @ absolute + theta * absolute))
    size = largest_row_sum(absolute)
    return (form + form.T) / 2.0, up(rounding + error * (2.0 * size + error + theta), 8)


def recovery_bound(
    matrix: Array,
    earlier: Array,
    problem: SupportProblem,
    theta: float,
    dual: Dual | None,
) -> float:
    """No component of ``problem`` recovers more beyond the ``earlier`` ones.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The covariance of all features.
    earlier : ndarray of shape (n, t)
        Loadings of the components before.
    problem : SupportProblem
        What the next one may look like.
    theta : float
        The share to prove.
    dual : Dual, optional
        Numbers that prove it; without them every support is tried.
    """
    if not 0.0 <= theta < np.inf:
        msg = f"a recovered variance of {theta!r} cannot be proven"
        raise CertificateError(msg)
    if dual is not None:
        refuse_dual(dual, problem.features)
    refuse_entries(matrix, LARGEST_SQUARED, "proofs about the recovered variance")
    left, error = left_after(matrix, earlier)
    form, form_error = recovery_form(left, error, theta)
    at = problem.features
    form = form[np.ix_(at, at)]
    place = SupportProblem(
        np.arange(at.size), problem.forced, problem.n_nonzero, problem.nonnegative
    )
    if dual is None:
        if not can_try_all(problem):
            msg = "there are too many supports to try all of them"
            raise CertificateError(msg)
        over = largest_on_supports(form, form_error, place)
    else:
        inner, doubt = dual_matrix(dual)
        doubt = doubt + gamma(2) * (np.abs(form) + np.abs(inner))
        top = up(eigenvalue_bound(form - inner, doubt) + form_error)
        over = up(top + sum_of_best(terms_of(dual, place), place), place.n_nonzero + 2)
    floor = FLOOR * max(float(left.diagonal().max()), 0.0)
    if over <= 0.0:
        return theta
    return up(theta + over / floor, 8) if floor > 0.0 else np.inf


def recovered_beyond(matrix: Array, earlier: Array, loading: Array) -> float:
    """``w'S_t^2 w / w'S_t w``: what a component adds."""
    left, _ = left_after(matrix, earlier)
    product = left @ loading
    variance = float(loading @ product)
    floor = FLOOR * max(float(left.diagonal().max()), 0.0)
    return float(product @ product) / variance if variance > floor else 0.0
