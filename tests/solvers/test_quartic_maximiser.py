"""The maximum over one entry, which coordinate ascent takes exactly: against grids and exact roots."""

import mpmath
import numpy as np
import pytest

from loadstone.solvers.coordinate_ascent_kernels import priced_maximiser, quartic_maximiser


def quartic(u, c2, c1, alpha):
    return -alpha / 4 * u**4 + c2 / 2 * u**2 + c1 * u


def random_cubics(n, seed):
    """Coefficients over 16 decades; half of them close to where zero and the root tie."""
    rng = np.random.default_rng(seed)
    alpha, c2, c1 = 10.0 ** rng.uniform(-8, 8, (3, n))
    c2 *= rng.choice([-1, 1], n)
    c1 *= rng.choice([-1, 1], n)
    close = rng.random(n) < 0.5
    c2[close] = np.abs(c2[close])
    tie = -(c2[close] / 3) * np.sqrt(2 * c2[close] / (3 * alpha[close]))
    c1[close] = tie * (
        1 + rng.choice([-1, 1], close.sum()) * 10.0 ** rng.uniform(-12, 0, close.sum())
    )
    return zip(c2.tolist(), c1.tolist(), alpha.tolist(), strict=True)


def magnitude(u, c2, c1, alpha):
    return max(alpha / 4 * u**4, abs(c2) / 2 * u**2, abs(c1) * u)


def test_scalar_maximiser_beats_a_dense_grid():
    unit = np.linspace(0, 1.0001, 2001)
    for c2, c1, alpha in random_cubics(20_000, seed=0):
        u = quartic_maximiser(c2, c1, alpha)
        bound = np.sqrt(max(c2 / alpha, 0)) + np.cbrt(max(c1 / alpha, 0))
        grid = bound * unit
        best = grid[np.argmax(quartic(grid, c2, c1, alpha))]
        loss = quartic(best, c2, c1, alpha) - quartic(u, c2, c1, alpha)
        assert u >= 0
        assert loss <= 1e-13 * magnitude(best, c2, c1, alpha), (c2, c1, alpha)


def largest_root(p, q):
    """Largest root of u^3 - p u - q by bisection in high precision; 0 where none is positive."""
    low = mpmath.sqrt(max(p, 0) / 3)
    high = mpmath.sqrt(max(p, 0)) + mpmath.cbrt(max(q, 0))
    if low**3 - p * low - q > 0:
        return mpmath.mpf(0)
    # No range is longer than the root: this leaves 30 of its digits.
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle**3 - p * middle - q <= 0 else (low, middle)
    return high


def test_scalar_maximiser_agrees_with_high_precision_roots():
    with mpmath.workdps(60):
        for c2, c1, alpha in random_cubics(1000, seed=1):
            a, p, q = mpmath.mpf(alpha), mpmath.mpf(c2), mpmath.mpf(c1)
            root = largest_root(p / a, q / a)
            best = root if quartic(root, p, q, a) > 0 else mpmath.mpf(0)
            assert abs(quartic_maximiser(c2, c1, alpha) - best) <= 1e-14 * best


@pytest.mark.parametrize(
    ("c2", "c1", "expected"),
    [(0.0, 0.0, 0.0), (4.0, 0.0, 2.0), (-4.0, 0.0, 0.0), (0.0, 8.0, 2.0), (0.0, -8.0, 0.0)],
)
def test_scalar_maximiser_where_the_answer_is_known(c2, c1, expected):
    assert quartic_maximiser(c2, c1, 1.0) == pytest.approx(expected, rel=1e-15)


def test_priced_maximiser_beats_a_dense_grid():
    unit = np.linspace(0, 1.0001, 801)
    for number, (c2, c1, alpha) in enumerate(random_cubics(3000, seed=4)):
        bound = np.sqrt(max(c2 / alpha, 0)) + np.cbrt(max(c1 / alpha, 0))
        values = quartic(bound * unit, c2, c1, alpha)
        # Prices around the value of the maximum, where zero and the root tie, and at random.
        price = max(values.max(), 0) * (0.9, 1.1, 0.1)[number % 3] + (number % 2) * 1e-9
        u = priced_maximiser(c2, c1, alpha, price)
        paid = quartic(u, c2, c1, alpha) - price * (u > 0)
        best = max(0.0, float((values - price * (unit > 0)).max()))
        assert u >= 0
        assert paid >= best - 1e-13 * magnitude(bound, c2, c1, alpha), (c2, c1, alpha, price)
