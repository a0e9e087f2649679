"""A component of which a better one is known is never proven the best."""

from dataclasses import replace

import numpy as np
import pytest

from loadstone.certificates import prove
from loadstone.certificates.bound_dual import Dual, evaluate
from loadstone.certificates.certificate_error import OutOfRangeError
from loadstone.certificates.problem import SupportProblem
from loadstone.certificates.proof_cases import ProofCase
from loadstone.certificates.proof_enumeration import open_supports
from loadstone.certificates.proof_screening import screen
from loadstone.constraints import LoadingConstraint
from loadstone.covariance import ExplicitCovariance

from .forgeries import outcomes, stand_alone
from .forgery_kinds import forged
from .poor_claims import trial


@pytest.fixture(scope="module")
def tool():
    return stand_alone()


@pytest.mark.parametrize("first", [0, 20, 40])
def test_random_proofs_of_false_claims_are_refused(first, tool, tmp_path):
    found = [trial(seed, tmp_path, tool) for seed in range(first, first + 20)]
    assert {what for one in found for what in one.values()} == {"refused"}, found


def overflowing(n, size=1e160, shift=1.0):
    """A dual whose P cancels in P + P', so that only squares tell how large it is."""
    upper = np.triu(np.full((n, n), size), 1)
    return Dual(np.arange(n), upper - upper.T, np.full(n, shift), np.zeros((n, 1)))


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("size", [1e160, 1e149, 1e80])
def test_squares_that_leave_their_range_prove_nothing(size, listed, tool, tmp_path):
    S = np.cov(np.random.default_rng(3).standard_normal((12, 7)).T)
    w = np.zeros(7)
    w[np.argmin(np.diag(S))] = 1.0
    poor = prove(ExplicitCovariance(S), LoadingConstraint(7, 3), w, effort="instant")
    stated = {"best_loading": w, "best_value": poor.value, "upper_bound": poor.value}
    cases = (ProofCase((overflowing(7, size),), listed=listed),)
    false = forged(poor, cases=cases, **stated)
    # As listed supports the truth comes out, and it is another bound.
    with np.errstate(all="ignore"):
        assert set(outcomes(lambda: false, S, tmp_path, tool).values()) == {"refused"}


def test_a_bound_that_is_not_finite_screens_nothing_and_lists_nothing():
    S, problem = ExplicitCovariance(np.eye(5)), SupportProblem.of(5, 2)
    found = evaluate(S, problem, overflowing(5, 1e149))
    assert found.bound > 1e100
    beyond = replace(found, bound=np.inf, terms=np.array([np.inf, np.inf, 1.0, 0.0, 0.0]))
    assert screen(problem, beyond, 0.5) is problem
    assert open_supports(problem, beyond, 0.5) is None


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e130, 1e200])
def test_covariances_whose_squares_leave_the_range_are_refused(scale, tool, tmp_path):
    # With squares of zero, 62 % of the optimum were proven optimal.
    S = np.cov(np.random.default_rng(5).standard_normal((20, 9)).T)
    w = np.zeros(9)
    w[:3] = 3**-0.5
    with pytest.raises(OutOfRangeError, match="rescale"):
        prove(ExplicitCovariance(S * scale), LoadingConstraint(9, 3), w)
    usual = prove(ExplicitCovariance(S), LoadingConstraint(9, 3), w)
    about = usual.about
    numbers = {"trace": about.trace * scale, "probe": about.probe * scale}
    told = replace(about, squares=about.squares * scale * scale, **numbers)
    value = usual.value * scale
    tiny = forged(usual, value=value, best_value=value, upper_bound=value, about=told)
    tiny = forged(tiny, best_loading=usual.loading)
    with np.errstate(all="ignore"):
        assert set(outcomes(lambda: tiny, S * scale, tmp_path, tool).values()) == {"refused"}
