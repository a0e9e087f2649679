"""All supports under equations: bounds that hold, and few supports that are solved."""

from __future__ import annotations

import numpy as np
import pytest

from loadstone.constraints import LoadingConstraint
from loadstone.covariance import Array, Covariance, ExplicitCovariance
from loadstone.extraction import support_table
from loadstone.extraction.linear_constraints import solve_on_supports
from loadstone.extraction.support_table import SupportTable


def _table(seed: int, n: int, size: int, rank: int) -> tuple[SupportTable, Array]:
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((rank, n)) * rng.uniform(0.1, 3, n)
    C = np.linalg.qr(np.where(rng.random((n, 2)) < 0.5, rng.standard_normal((n, 2)), 0))[0]
    # What components along C leave, as it is where others follow them.
    Z = Z - (Z @ C) @ np.linalg.lstsq(Z @ C, Z, rcond=None)[0]
    table = SupportTable.of(ExplicitCovariance(Z.T @ Z), LoadingConstraint(n, size))
    assert table is not None
    return table, C


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("rank", [1, 2, 12])
def test_rough_bounds_are_no_less_than_the_leading_eigenvalues(size: int, rank: int) -> None:
    for seed in range(5):
        table, _ = _table(seed, 9, size, rank)
        blocks = [table.matrix[np.ix_(T, T)] for T in table.supports]
        exact = np.array([np.linalg.eigvalsh(block)[-1] for block in blocks])
        largest = exact.max()
        assert (table.rough_bounds >= exact - 1e-9 * largest).all()
        assert (table._by_traces() >= exact - 1e-9 * largest).all()
        assert (table._by_two_directions() >= exact - 1e-9 * largest).all()


@pytest.mark.parametrize("size", [3, 11])
def test_most_supports_are_not_solved(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, C = _table(0, 14, size, 30)
    expected = solve_on_supports(ExplicitCovariance(table.matrix), C, table.supports)[0].max()
    solved = []

    def counted(S: Covariance, C: Array, supports: Array) -> tuple[Array, Array]:
        solved.append(len(supports))
        return solve_on_supports(S, C, supports)

    monkeypatch.setattr(support_table, "solve_on_supports", counted)
    best = table.best(C)
    assert best is not None
    assert best.value == pytest.approx(expected, rel=1e-12)
    assert sum(solved) < len(table.supports) / 2


def test_a_table_of_one_feature() -> None:
    table = SupportTable.of(ExplicitCovariance(np.array([[2.0]])), LoadingConstraint(1, 1))
    assert table is not None
    best = table.best(np.empty((1, 0)))
    assert best is not None
    assert best.value == pytest.approx(2.0)
