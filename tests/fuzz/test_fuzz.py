"""A few inputs per estimator; ``tests/fuzz/run.py`` tries thousands."""

import pytest

from fuzz.functions import FUNCTIONS
from fuzz.run import name_of, outcome
from registry import estimators

N_INPUTS = 12


@pytest.mark.parametrize("cls", [*estimators(), *FUNCTIONS], ids=name_of)
def test_every_property_holds_for_inputs_nobody_would_think_of(cls):
    found = [outcome(cls, seed, 120) for seed in range(1000, 1000 + N_INPUTS)]
    violated = [f"{given}: {said}" for said, given in found if said not in ("fitted", "refused")]
    assert not violated, "\n".join(violated)
    assert sum(said == "fitted" for said, _ in found) >= N_INPUTS // 4
