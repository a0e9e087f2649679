"""Write the table of ``README.md`` that says which estimator to take.

::

    python tools/make_readme.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs" / "_ext")]

from registry_tables import choose_table  # noqa: E402

README = ROOT / "README.md"
#: The table stands between these two lines.
BEGIN = "<!-- made by tools/make_readme.py -->\n"
END = "<!-- until here -->\n"


def readme(text: str) -> str:
    """``text`` with the table as the registry says it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{choose_table('docs/methods/')}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
