"""How many components, and how they are related."""

from loadstone.extraction.competition import competitions, prove_jointly, signed
from loadstone.extraction.one_by_one import (
    Extraction,
    Plan,
    RefusedConstraintError,
    one_by_one,
)
from loadstone.extraction.orthogonality import (
    ORTHOGONALITIES,
    Orthogonality,
    orthogonality_violation,
)
from loadstone.extraction.priced import extract

__all__ = [
    "ORTHOGONALITIES",
    "Extraction",
    "Orthogonality",
    "Plan",
    "RefusedConstraintError",
    "competitions",
    "extract",
    "one_by_one",
    "orthogonality_violation",
    "prove_jointly",
    "signed",
]
