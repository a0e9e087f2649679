"""Figures are drawn off screen and closed after every test."""

import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
