"""Write the parts of ``README.md`` that follow from the package.

::

    python tools/make_readme.py            # the table that says which estimator to take
    python tools/make_readme.py --output   # also what the lines of Python print
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs" / "_ext")]

from registry_tables import choose_table  # noqa: E402

README = ROOT / "README.md"
#: The table stands between these two lines.
BEGIN = "<!-- made by tools/make_readme.py -->\n"
END = "<!-- until here -->\n"
#: Lines of Python, what stands between, and what they print.
SHOWN = re.compile(
    r"(^```python\n(?P<code>[^`]*)```\n\n<!-- output -->\n```text\n)[^`]*", flags=re.MULTILINE
)


def readme(text: str) -> str:
    """``text`` with the table as the registry says it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{choose_table('docs/methods/')}\n{END}{after}"


def with_output(text: str) -> str:
    """``text`` with what its lines of Python print, where that is shown."""

    def run(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(match["code"], {})
        return f"{match[1]}{printed.getvalue()}"

    return SHOWN.sub(run, text)


if __name__ == "__main__":
    text = readme(README.read_text(encoding="utf-8"))
    README.write_text(with_output(text) if "--output" in sys.argv else text, encoding="utf-8")
