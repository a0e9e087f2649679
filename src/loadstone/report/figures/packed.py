"""Many numbers in few letters: sixteen bits each, which is more than a picture shows."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

#: The code of the largest deviation; one below its negative stands for a missing value.
LARGEST = 32767
MISSING = -32768


@dataclass(frozen=True)
class Packed:
    """Numbers ``middle + half * code / 32767``, with the codes as base64 of little-endian int16."""

    middle: float
    half: float
    codes: str


def packed(values: Any, *, around_zero: bool = False) -> Packed:
    """Pack numbers; with ``around_zero``, zeros stay exactly zero."""
    values = np.asarray(values, dtype=np.float64).ravel()
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    middle = 0.0 if around_zero else low / 2 + high / 2
    half = max(abs(low), abs(high)) if around_zero else high / 2 - low / 2
    codes = np.full(values.size, MISSING, dtype="<i2")
    share = (values[np.isfinite(values)] - middle) / (half or 1.0)
    codes[np.isfinite(values)] = np.round(LARGEST * np.clip(share, -1, 1))
    return Packed(short(middle, 9), short(half, 9), base64.b64encode(codes.tobytes()).decode())


def short(value: Any, digits: int = 5) -> float:
    """A number with few digits, to keep the file small."""
    return float(f"{float(value):.{digits}g}")


def shortened(values: Any) -> list[float | None]:
    """Numbers with few digits; ``None`` where there is none."""
    return [short(v) if np.isfinite(v) else None for v in np.asarray(values, np.float64).ravel()]
