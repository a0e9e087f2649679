"""Upper bounds that others have published for the same matrices, as they stand in their tables.

Relative gaps in per cent, (bound - optimum) / optimum, of the pit props, loadings of both signs:
tables 2 and 5 of Li and Xie, from the results in their archive. ``dspca`` is the relaxation of
d'Aspremont et al., which they number (17) and computed with MOSEK; ``li_xie`` is the smallest gap
of their own relaxations (8), (13) and (16). ``seconds`` are those of their branch and cut, MISDP (6).

References
----------
d'Aspremont, A., El Ghaoui, L., Jordan, M. I., & Lanckriet, G. R. G. (2007). A direct formulation
for sparse PCA using semidefinite programming. SIAM Review, 49(3), 434-448.

Li, Y., & Xie, W. (2024). Exact and approximation algorithms for sparse PCA. INFORMS Journal on
Computing. doi:10.1287/ijoc.2022.0372. Results: https://github.com/INFORMSJoC/2022.0372.
"""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """One line of the tables."""

    optimum: float
    dspca: float
    li_xie: float
    seconds: float


PITPROPS = {
    4: Published(2.937479, 2.712658, 0.408966, 5),
    5: Published(3.406155, 1.525001, 0.184579, 7),
    6: Published(3.770960, 1.134157, 0.150953, 7),
    7: Published(3.996190, 0.886032, 0.000009, 4),
    8: Published(4.068607, 1.873760, 0.262015, 7),
    9: Published(4.138647, 1.634276, 0.000011, 7),
    10: Published(4.172638, 1.102341, 0.088746, 3),
}


def published_ratios(name: str, n_nonzero: int, *, nonnegative: bool) -> tuple[float, float]:
    """Optimum / bound of d'Aspremont et al. and of Li and Xie; NaN where they say nothing."""
    found = PITPROPS.get(n_nonzero) if name == "pit props" and not nonnegative else None
    if found is None:
        return float("nan"), float("nan")
    return 1.0 / (1.0 + found.dspca / 100.0), 1.0 / (1.0 + found.li_xie / 100.0)
