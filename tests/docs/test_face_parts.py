"""The face-parts example runs and shows parts."""

import runpy
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.ndimage import label

from real_data import data_file

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "examples" / "plot_face_parts.py"


def test_six_disjoint_components_are_localised_parts(monkeypatch, capsys):
    mpl.use("agg")
    monkeypatch.setenv("LOADSTONE_DATA", str(data_file("cbcl_faces.npz").parent))
    result = runpy.run_path(str(SCRIPT))
    model = result["model"]
    assert model.components_.shape == (6, 361)
    assert np.all(model.components_ >= 0)
    assert np.all(model.cardinality_ <= 40)
    assert model.support_.sum(axis=0).max() == 1
    assert capsys.readouterr().out.count("of the variance") == 6
    assert len(result["figure"].axes) == 6
    # A part hangs together: nearly all of its energy sits in its three largest patches,
    # where forty pixels drawn at random fall into two dozen.
    for part in model.components_:
        patches, n_patches = label(part.reshape(19, 19) > 0, structure=np.ones((3, 3)))
        energy = np.sort(
            [np.sum(part.reshape(19, 19)[patches == p + 1] ** 2) for p in range(n_patches)]
        )
        assert energy[-3:].sum() > 0.9
