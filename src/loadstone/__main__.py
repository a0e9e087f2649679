"""``python -m loadstone``: the command line, where no script of that name is on the path."""

from __future__ import annotations

from loadstone.cli import main

if __name__ == "__main__":
    main()
