"""The ``loadstone`` command: where the shell comes in."""

from __future__ import annotations

import sys

#: What ``pip install loadstone[cli]`` adds; named when one of them is missing.
_EXTRA = ("typer", "rich", "matplotlib", "pandas", "jinja2")


def main() -> None:
    """Run the command line, or say in one sentence what it needs."""
    try:
        from loadstone.commands.app import app
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        sys.exit(f"The loadstone command needs {missing}: pip install 'loadstone[cli]'")
    app()


if __name__ == "__main__":
    main()
