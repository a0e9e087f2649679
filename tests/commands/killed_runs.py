"""Whole commands that are killed: old results, new ones, or none; never a mixture.

python tests/commands/killed_runs.py N_KILLS [SEED]

One process imports everything and forks for each run, so that a run is as long as its work and
moments to kill it are dense. Every other kill is injected: at the n-th time that a run stores,
moves or exchanges files.
"""

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

RUNS = {
    "fit": ("fit", "data.csv", "-c", "2", "-k", "3", "-o", "out"),
    "path": ("path", "data.csv", "-o", "out"),
    "report": ("report", "model.npz", "data.csv", "-o", "out.html"),
    "transform": ("transform", "model.npz", "data.csv", "-o", "out.csv"),
    "covariance": ("covariance", "data.csv", "-o", "out.npz"),
    "certify": ("certify", "model.npz", "data.csv", "-o", "out"),
}
FILES = {
    "fit": {"loadings.csv", "scores.csv", "model.npz", "report.html"},
    "path": {"path.csv", "path.png"},
    "report": {"out.html"},
    "transform": {"out.csv"},
    "covariance": {"out.npz"},
    "certify": {"certificate_1.npz", "certificate_2.npz", "joint.npz"},
}
#: Steps in which a kill could part what belongs together.
STEPS = ("os.fsync", "os.rename", "os.replace", "os.unlink", "os.rmdir", "os.mkdir")


def command(*arguments):
    """Run a command in this process; its exit code."""
    from loadstone.commands.app import app

    try:
        app([*arguments, "--quiet"], standalone_mode=True)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def killing_at(count):
    """Make the ``count``-th step kill the process, before it is done."""
    from loadstone.files import swap

    left = [count]

    def guarded(step):
        def run(*arguments, **options):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments, **options)

        return run

    for name in STEPS:
        name = name.partition(".")[2]
        setattr(os, name, guarded(getattr(os, name)))
    swap._exchanged = guarded(swap._exchanged)


def forked(arguments, count=0):
    """A child that runs a command, killed at its ``count``-th step where that is given."""
    child = os.fork()
    if child:
        return child
    try:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
        if count:
            killing_at(count)
        os._exit(command(*arguments))
    finally:
        os._exit(99)


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def standing(name):
    """What a run left: the content of each file, or nothing."""
    alone = [file for file in map(Path, FILES[name]) if file.exists()]
    folder = Path("out")
    files = alone or (folder.iterdir() if folder.exists() else ())
    return {file.name: file.read_bytes() for file in files}


def is_whole(name, found):
    """Whether all files are there, and complete."""
    complete = {
        ".html": lambda b: b.rstrip().endswith(b"</html>"),
        ".png": lambda b: b.endswith(b"IEND\xaeB`\x82"),
        ".npz": lambda b: b"PK\x05\x06" in b[-64:],
        ".csv": lambda b: b.endswith(b"\n"),
    }
    return set(found) == FILES[name] and all(
        complete[Path(file).suffix](content) for file, content in found.items()
    )


def data(seed):
    X = np.random.default_rng(seed).standard_normal((40, 8)) * np.arange(1, 9)
    header = ",".join(f"f{i}" for i in range(8))
    np.savetxt("data.csv", X, delimiter=",", header=header, comments="")


def cleared(name):
    """Whether the next run works without --force, and leaves nothing but its results."""
    code = ended(forked(RUNS[name]))
    strays = [path.name for path in Path.cwd().iterdir() if path.name.startswith(".")]
    return code == 0 and is_whole(name, standing(name)) and not strays


def main(n_kills, seed=0):
    """Kill runs; how often each was found in which state, and every violation."""
    chance, found = random.Random(seed), Counter()
    with tempfile.TemporaryDirectory() as place:
        for name, arguments in RUNS.items():
            folder = Path(place) / name
            folder.mkdir()
            os.chdir(folder)
            data(0)
            # In this process, so that everything is imported when it forks.
            assert command("fit", "data.csv", "-c", "2", "-k", "3", "-o", "first") == 0
            Path("first/model.npz").rename("model.npz")
            assert command(*arguments) == 0
            for number in range(n_kills):
                found[f"{name}: {one(name, number, chance)}"] += 1
        os.chdir("/")
    for said, times in sorted(found.items()):
        print(f"{times:5} {said}")
    return any("VIOLATION" in said for said in found)


def one(name, number, chance):
    """Kill one run over old results, or where there are none; what that came to."""
    over_old = number % 4 < 2
    if not over_old:
        _remove(name)
    before = standing(name)
    data(number + 1)
    arguments = (*RUNS[name], "--force") if over_old else RUNS[name]
    if number % 2:
        code = ended(forked(arguments, count=chance.randint(1, 25)))
    else:
        child = forked(arguments)
        time.sleep(chance.uniform(0, DURATION[name]))
        os.kill(child, signal.SIGTERM if number % 8 < 4 else signal.SIGKILL)
        code = ended(child)
    after = standing(name)
    if after == before:
        state = "old results" if before else "no results"
    elif is_whole(name, after) and _are_all_new(before, after):
        state = "new results"
    else:
        return f"VIOLATION, a mixture or a part: {sorted(after)}"
    if state == "no results" and not cleared(name):
        return "VIOLATION, the next run did not work"
    return f"{state}{'' if code < 0 else ' (it had ended)'}"


def _are_all_new(before, after):
    return all(before.get(file) != content for file, content in after.items())


def _remove(name):
    import shutil

    shutil.rmtree("out", ignore_errors=True)
    for file in FILES[name]:
        Path(file).unlink(missing_ok=True)


#: Seconds within which a moment is drawn; about how long a run takes.
DURATION = {
    "fit": 0.25,
    "path": 0.5,
    "report": 0.1,
    "transform": 0.05,
    "covariance": 0.05,
    "certify": 0.2,
}

if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *map(int, sys.argv[2:])))
