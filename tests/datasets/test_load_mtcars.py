"""The cars are those of the published table."""

import numpy as np

from loadstone.datasets import load_mtcars


def test_cars_are_the_published_table():
    cars = load_mtcars()
    assert cars.data.shape == (len(cars.sample_names), len(cars.feature_names)) == (32, 11)
    assert cars.data.dtype == np.float64
    row = dict(
        zip(cars.feature_names, cars.data[cars.sample_names.index("Volvo 142E")], strict=True)
    )
    assert (row["mpg"], row["hp"], row["wt"], row["gear"]) == (21.4, 109.0, 2.78, 4.0)
    # The means that every description of the table prints.
    means = dict(zip(cars.feature_names, cars.data.mean(axis=0).round(4), strict=True))
    assert (means["mpg"], means["disp"], means["hp"]) == (20.0906, 230.7219, 146.6875)
    assert set(np.unique(cars.data[:, cars.feature_names.index("cyl")])) == {4, 6, 8}
    assert "Henderson & Velleman (1981)" in cars.DESCR


def test_a_change_stays_with_the_caller():
    load_mtcars().data[:] = 0
    assert load_mtcars().data.any()
