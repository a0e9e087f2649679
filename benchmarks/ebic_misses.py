"""How many data sets of Guan and Dy's design have a loading too many by EBIC, from a formula.

A loading that is zero is let in where it lowers the criterion. In a regression on known scores
that depends on Fisher's law alone, so the number of such data sets needs no simulation.

``python -m benchmarks.ebic_misses --table docs/measured/ebic_misses.md`` makes the table of the
documentation.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import chi2, f

#: Samples and features of the design; two factors have four loadings each.
SAMPLES, FEATURES = (50, 200, 400), (10, 100, 500)
FACTORS, LOADINGS = 2, 8
GAMMA = 1.0


def expected(n: int, d: int, *, free: bool) -> float:
    """Zeros that are let in, on average, with a noise variance per feature or one for all."""
    price = np.log(n) + 2 * GAMMA * np.log(d * FACTORS)
    tail = f.sf((n - 2) * np.expm1(price / n), 1, n - 2) if free else chi2.sf(price, 1)
    return float(tail * (d * FACTORS - LOADINGS))


def table() -> str:
    """Data sets in a thousand with a loading too many, in Markdown."""
    kinds = [(free, d) for free in (False, True) for d in FEATURES]
    lines = [
        [
            "samples",
            *(f"{'noise per feature' if free else 'one noise'}, {d} features" for free, d in kinds),
        ]
    ]
    lines += [
        [str(n), *(f"{1000 * expected(n, d, free=free):.0f}" for free, d in kinds)] for n in SAMPLES
    ]
    text = [f"| {' | '.join(line)} |" for line in lines]
    text.insert(1, "|" + "---|" * len(lines[0]))
    return "\n".join(text) + "\n"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path)
    path = parser.parse_args().table
    if path is None:
        print(table(), end="")
    else:
        path.write_text(table())


if __name__ == "__main__":
    main()
