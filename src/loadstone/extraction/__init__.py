"""How many components, and how they are related."""

from loadstone.extraction.one_by_one import Extraction, Plan, one_by_one

__all__ = ["Extraction", "Plan", "one_by_one"]
