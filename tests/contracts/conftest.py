"""What all contracts have in common."""

import pytest

from loadstone.certificates import joint_prove


@pytest.fixture(autouse=True)
def quick_joint_statements(monkeypatch):
    """Statements about all components come from eigenvalues alone, which is instant.

    Searching for tighter ones is nine tenths of an exact fit, and has tests of its own; what
    contracts ask of a fitted estimator is the same.
    """
    monkeypatch.setattr(joint_prove, "LARGEST_DUAL", 0)
