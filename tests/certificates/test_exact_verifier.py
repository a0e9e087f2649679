"""The stand-alone verifier with eigenvalues bounded in interval arithmetic."""

import numpy as np
import pytest

from .certificate_kinds import SHAPES, made
from .forgeries import stand_alone
from .forgery_kinds import forged
from .joint_kinds import PITPROPS, every_kind

pytest.importorskip("flint", reason="python-flint is not installed: nothing bounds exactly")


@pytest.fixture(scope="module")
def tool():
    module = stand_alone()
    module.use_flint()
    return module


@pytest.mark.parametrize("seed", range(3 * len(SHAPES)))
def test_every_kind_of_proof_holds_exactly(seed, tool, tmp_path):
    certificate, X = made(seed)
    path = tmp_path / "c.npz"
    certificate.save(path)
    holds, line = tool.check(path, X)
    assert holds, line
    assert line.endswith("interval arithmetic")
    bound = certificate.upper_bound
    forged(certificate, upper_bound=bound - 1e-3 * abs(bound), value=0.0).save(path)
    assert not tool.check(path, X)[0]


def test_joint_proofs_hold_exactly(tool, tmp_path):
    path = tmp_path / "joint.npz"
    for name, joint in every_kind().items():
        joint.save(path)
        holds, text = tool.check(path, PITPROPS)
        assert holds, (name, text)


def test_intervals_contain_what_rounding_hides(tool):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 5, 4))
    rounded = X @ Y.T
    exact = np.array([[sum(a * b for a, b in zip(x, y, strict=True)) for y in Y] for x in X])
    error = tool.off(rounded, (X, Y))
    assert (error > 0).any()
    assert (error < 1e-14).all()
    assert (np.abs(rounded - exact) <= error + 1e-15).all()
