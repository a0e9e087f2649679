"""Break the package on purpose, one place at a time, and see whether a test notices.

Run everything (a few minutes), or only mutations whose names contain a word::

    python tools/mutations.py
    python tools/mutations.py deflation threshold

The table is ``tools/mutations.toml``: a name, a file below ``src/loadstone``, the exact
old text, the new one, and the narrowest tests that should fail. Sources and tests are
copied to a temporary folder, so the working tree is never touched, and no external data
is in reach there: what is caught is caught everywhere. Before anything is broken all
stated tests must pass.

==============  ===============================================================
``caught``      a stated test fails, as it should
``SURVIVED``    all stated tests pass: a test is missing
``equivalent``  cannot be caught, for the reason in the table; not run
``STALE``       the old text is not there, or more than once: update the table
``ERROR``       the tests could not be run at all
==============  ===============================================================

The exit code is 0 when nothing is in capitals.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".toml")
#: Seconds after which a mutation that makes a test hang counts as caught.
TIME_LIMIT = 300.0
PASSED, FAILED = 0, 1
OPTIONS = ("-q", "-x", "--tb=line", "--no-header", "-p", "no:cacheprovider")
#: Imported once, before the first fork: most of the time of a short test run.
LARGE = (
    "dask.array", "hypothesis.extra.numpy", "mpmath", "numba", "pandas", "scipy.optimize",
    "scipy.sparse.linalg", "scipy.stats", "sklearn.decomposition", "sklearn.linear_model",
    "sklearn.utils.estimator_checks",
)  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One line of the table."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""


def read_table(path: Path) -> list[Mutation]:
    """The mutations, with names that are different and tests for all but the equivalent ones."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]
    table = [Mutation(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in entries]
    twice = [name for name, count in Counter(m.name for m in table).items() if count > 1]
    if twice:
        msg = f"{path.name} names {twice} more than once; give each mutation its own name"
        raise ValueError(msg)
    silent = [m.name for m in table if not m.tests and not m.equivalent]
    if silent:
        msg = f"{silent} in {path.name} have neither tests nor a reason to be equivalent; add one"
        raise ValueError(msg)
    return table


class Copy:
    """Sources and tests in a folder of their own, with the mutation applied and taken back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Time stamps are kept, so that what is compiled already stays valid.
        for name in ("src", "tests", "pyproject.toml"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, folder / name)

    def broken(self, mutation: Mutation) -> str | None:
        """Apply; the complaint where the text is not there exactly once."""
        path = self.folder / "src" / "loadstone" / mutation.file
        if not path.exists():
            return f"there is no {mutation.file}"
        text = path.read_text(encoding="utf-8")
        if (count := text.count(mutation.old)) != 1:
            return f"its old text is in {mutation.file} {count} times, not once"
        path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
        if path.stem.endswith("_kernels"):
            self._forget_compiled()
        return None

    def mended(self, mutation: Mutation) -> None:
        """Take the mutation back."""
        path = self.folder / "src" / "loadstone" / mutation.file
        shutil.copy2(ROOT / "src" / "loadstone" / mutation.file, path)
        if path.stem.endswith("_kernels"):
            self._forget_compiled()

    def _forget_compiled(self) -> None:
        # A compiled function does not notice that one it calls in another file has changed.
        for path in (self.folder / "src").rglob("*.nb[ic]"):
            path.unlink()

    def run(self, tests: Sequence[str]) -> int:
        """The exit code of pytest on ``tests``, stopping at the first failure.

        The process is a fork of this one, which has imported what is large and never broken.
        """
        child = os.fork()
        if child == 0:
            self._run_here(list(dict.fromkeys(tests)))
        deadline = time.monotonic() + TIME_LIMIT
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return FAILED

    def _run_here(self, tests: list[str]) -> NoReturn:
        os.chdir(self.folder)
        os.environ["PYTHONPATH"] = str(self.folder / "src")
        sys.path.insert(0, str(self.folder / "src"))
        sys.dont_write_bytecode = True
        output = self.folder / "output.txt"
        with output.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        code = 3
        try:
            code = int(pytest.main([*OPTIONS, *tests]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def verdict(copy: Copy, mutation: Mutation) -> tuple[str, str]:
    """What became of one mutation, and a remark."""
    complaint = copy.broken(mutation)
    if complaint is not None:
        return "STALE", f"{complaint}; update {TABLE.name}"
    try:
        if mutation.equivalent:
            return "equivalent", mutation.equivalent
        code = copy.run(mutation.tests)
    finally:
        copy.mended(mutation)
    if code == FAILED:
        return "caught", ""
    if code == PASSED:
        return "SURVIVED", f"{mutation.file}: {' '.join(mutation.tests)} pass"
    return (
        "ERROR",
        f"pytest ended with code {code}; are {' '.join(mutation.tests)} the right names?",
    )


def main(words: Sequence[str]) -> int:
    """Run the table; 0 when every mutation that can be caught is."""
    table = [m for m in read_table(TABLE) if not words or any(word in m.name for word in words)]
    if not table:
        print(f"no mutation has a name with {' or '.join(words)} in it")
        return 2
    os.environ.pop("LOADSTONE_DATA", None)
    # Plugins found in the environment take longer to load than most tests to run.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    for name in LARGE:
        importlib.import_module(name)
    # The same examples in every run, so that what is caught once is caught again.
    hypothesis.settings.register_profile("mutations", derandomize=True, deadline=None)
    hypothesis.settings.load_profile("mutations")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Copy(Path(folder))
        begun = time.monotonic()
        if any(m.tests for m in table) and copy.run([t for m in table for t in m.tests]) != PASSED:
            print((copy.folder / "output.txt").read_text(encoding="utf-8")[-4000:])
            print("the stated tests do not pass on the code as it is; mend that first")
            return 2
        print(f"unbroken, all stated tests pass ({time.monotonic() - begun:.0f} s)", flush=True)
        for mutation in table:
            started = time.monotonic()
            word, remark = verdict(copy, mutation)
            counts[word] += 1
            seconds = time.monotonic() - started
            print(f"{word:<11}{seconds:6.1f} s  {mutation.name}  {remark}".rstrip(), flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return int(any(word.isupper() for word in counts))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="parts of the names of the mutations to run")
    sys.exit(main(parser.parse_args().words))
