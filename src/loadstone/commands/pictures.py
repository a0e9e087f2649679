"""What features are, where that makes a picture: pixels of an image, places along an axis."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from loadstone.commands.options import FeatureAxis, ImageShape
from loadstone.files.errors import MissingFileError, OptionError
from loadstone.files.reachable import is_at_hand

#: A number inside a name, such as that of "wl_450.5" or "X450nm".
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Pictures:
    """How a report draws components, besides as bars."""

    image_shape: ImageShape = None
    feature_axis: FeatureAxis = None

    @property
    def files(self) -> list[Path]:
        """What is read for them; 'names' is no file, and does no harm here."""
        return [] if self.feature_axis is None else [Path(self.feature_axis)]

    def refuse_no_report(self) -> None:
        """Say that nothing is drawn where no report is written."""
        for option, value in vars(self).items():
            if value is not None:
                msg = (
                    f"--{option.replace('_', '-')} {value} is about pictures in the report, which "
                    "--no-report leaves out; leave out one of the two"
                )
                raise OptionError(msg)

    def of(self, names: Any, n_features: int) -> dict[str, Any]:
        """The arguments of :func:`loadstone.report` for so many features with these names."""
        return {
            "image_shape": self._shape(n_features),
            "feature_axis": None if self.feature_axis is None else self._axis(names, n_features),
        }

    def _shape(self, n_features: int) -> tuple[int, int] | None:
        if self.image_shape is None:
            return None
        sides = re.fullmatch(r"\s*(\d+)\s*[xX,]\s*(\d+)\s*", self.image_shape)
        if sides is None or int(sides[1]) * int(sides[2]) != n_features:
            # Loaded here, because only the mistake needs it.
            from loadstone.plotting.fitted import squarest

            height, width = squarest(n_features)
            msg = (
                f"--image-shape {self.image_shape} does not hold {n_features} features; give height "
                "and width, whose product is the number of features, such as "
                f"--image-shape {height}x{width}"
            )
            raise OptionError(msg)
        return int(sides[1]), int(sides[2])

    def _axis(self, names: Any, n_features: int) -> list[float]:
        found = self._named(names) if self.feature_axis == "names" else self._read()
        if len(found) != n_features:
            msg = (
                f"--feature-axis {self.feature_axis} gives {len(found)} numbers for {n_features} "
                "features; give 'names' where every name has one number in it, or a file with one "
                "number for each feature"
            )
            raise OptionError(msg)
        return found

    def _named(self, names: Any) -> list[float]:
        numbers = [_NUMBER.findall(str(name)) for name in ([] if names is None else names)]
        return [float(found[0]) for found in numbers if len(found) == 1]

    def _read(self) -> list[float]:
        file = Path(str(self.feature_axis))
        if not is_at_hand(file):
            msg = f"--feature-axis {file} is no file; or did you mean 'names'?"
            raise MissingFileError(msg)
        try:
            words = re.split(r"[\s,;]+", file.read_text(encoding="utf-8-sig").strip())
            found = [float(word) for word in words]
        except ValueError as error:
            msg = f"--feature-axis {file} has more than numbers in it: {error}"
            raise OptionError(msg) from error
        strange = [word for word, place in zip(words, found, strict=True) if not isfinite(place)]
        if strange:
            msg = f"--feature-axis {file} has {strange[0]} in it, which is no place on an axis"
            raise OptionError(msg)
        return found
