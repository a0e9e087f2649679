"""One page that says what was found; ``loadstone.report(estimator, ...)`` makes it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from loadstone.report.render import Report, build_report, render
from loadstone.report.summarise import summarise

__all__ = ["Report", "build_report", "render", "summarise"]


class _CallableModule(ModuleType):
    """Lets ``loadstone.report`` be both this package and the function people call."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Report:
        return build_report(*arguments, **keywords)


sys.modules[__name__].__class__ = _CallableModule
