"""Damaged files given to the command line: an answer or one sentence, and the exit code of it.

python tests/commands/damaged_files.py N_FLIPS N_CUTS [SEED] [--apart | --started] [NAME ...]

Copies of files of every kind with one bit flipped, or without their end, go through the command
that reads them. A signal would end this process; everything else is counted by exit code.

``--apart`` forks for every file and counts how that process ended, ``--started`` starts the
command as a shell does. More than a hundred H5AD or SPSS files are looked through by forks as well, in
place of a new interpreter for each.
"""

import contextlib
import io
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pandas as pd
from scipy import io as scipy_io
from scipy import sparse

from hostile import damaged, forged_archive, forged_array, looked_through_by_a_fork
from workbook_writer import write_ods, write_xlsx

X = np.round(np.random.default_rng(0).standard_normal((30, 6)), 3)
X[np.random.default_rng(1).random(X.shape) < 0.5] = 0
FRAME = pd.DataFrame(X, columns=[f"f{i}" for i in range(6)])
CELLS = [list(FRAME.columns), *X.tolist()]
# A share of the features fits however many columns damage leaves; a number may not (exit code 2).
FIT = ("-c", "1", "--method", "threshold", "-k", "0.5", "--no-report", "--force", "-o", "out")
#: What a damaged file may come to, by the command that reads it.
CODES = {"fit": {0, 4}, "transform": {0, 4, 5}, "verify": {0, 1, 4, 5}}


def _h5ad(path):
    import anndata

    anndata.AnnData(sparse.csr_matrix(X)).write_h5ad(path)


def _spss(path):
    import pyreadstat

    pyreadstat.write_sav(FRAME, str(path))


def _model(path):
    import loadstone

    loadstone.save_model(loadstone.SparsePCA(2, n_nonzero=2, certify="instant").fit(FRAME), path)


def _certificate(path):
    import loadstone

    loadstone.certify(FRAME, n_nonzero=2).save(path)


def _joint(path):
    import loadstone

    model = loadstone.SparsePCA(2, n_nonzero=2, certify="standard").fit(FRAME)
    model.joint_certificate_.save(path)


def _covariance(path):
    import loadstone

    loadstone.SampleCovariance.of(FRAME).save(path)


def _fit(name):
    return ("fit", name, *FIT)


def _transform(name):
    return ("transform", name, "data.csv", "-o", "scores.csv", "--force")


def _verify(name):
    return ("verify", name, "data.csv")


#: Every kind of file: who writes it, and which command reads it.
KINDS = {
    "table.csv": (lambda p: FRAME.to_csv(p, index=False), _fit),
    "table.csv.gz": (lambda p: FRAME.to_csv(p, index=False), _fit),
    "table.tsv": (lambda p: FRAME.to_csv(p, index=False, sep="\t"), _fit),
    "table.parquet": (lambda p: FRAME.to_parquet(p), _fit),
    "table.arrow": (lambda p: FRAME.assign(kind=["a", "bc"] * 15).to_feather(p), _fit),
    "table.feather": (lambda p: FRAME.to_feather(p, compression="uncompressed"), _fit),
    "table.xlsx": (lambda p: write_xlsx(p, {"a": CELLS}), _fit),
    "table.ods": (lambda p: write_ods(p, {"a": CELLS}), _fit),
    "table.jsonl": (lambda p: FRAME.to_json(p, orient="records", lines=True), _fit),
    "table.dta": (lambda p: FRAME.to_stata(p, write_index=False), _fit),
    "table.sav": (_spss, _fit),
    "table.npy": (lambda p: np.save(p, X), _fit),
    "dense.npz": (lambda p: np.savez_compressed(p, X=X), _fit),
    "sparse.npz": (lambda p: sparse.save_npz(p, sparse.csr_array(X)), _fit),
    "table.mtx": (lambda p: scipy_io.mmwrite(p, sparse.coo_array(X)), _fit),
    "pattern.mtx": (
        lambda p: scipy_io.mmwrite(p, sparse.coo_array(X != 0), field="pattern"), _fit,
    ),
    "dense.mtx": (lambda p: scipy_io.mmwrite(p, X), _fit),
    "covariance.npz": (_covariance, _fit),
    "model.npz": (_model, _transform),
    "certificate.npz": (_certificate, _verify),
    "joint.npz": (_joint, _verify),
    "table.h5ad": (_h5ad, _fit),
}  # fmt: skip

#: Headers that declare 10^12 elements, by the kind of file.
FORGED = {
    "table.npy": forged_array((10**6, 10**6)),
    "dense.npz": forged_archive(X=forged_array((10**6, 10**6))),
    "sparse.npz": forged_archive(
        data=forged_array((10**12,)), indices=forged_array((10**12,), "<i8"),
        indptr=forged_array((4,), "<i8"), shape=forged_array((2,), "<i8"),
        format=forged_array((), "|S3", b"csr"),
    ),
    "table.mtx": b"%%MatrixMarket matrix coordinate real general\n1000000 1000000 1000000000000\n",
    "dense.mtx": b"%%MatrixMarket matrix array real general\n1000000 1000000\n1\n",
    "covariance.npz": forged_archive(
        sample_covariance=forged_array((10**12,)), scatter=forged_array((10**6, 10**6))
    ),
    "model.npz": forged_archive(
        loadstone_json=forged_array((10**12,), "|u1"), components_=forged_array((10**6, 10**6))
    ),
    "certificate.npz": forged_archive(
        format=forged_array((10**12,), "|u1"), loading=forged_array((10**12,))
    ),
    "joint.npz": forged_archive(joint_format=forged_array((10**12,), "|u1")),
}  # fmt: skip


def came_to(arguments):
    """The exit code of a command run here, and what is wrong with what it said, if anything."""
    from loadstone.commands.app import app

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            app([*arguments, "--quiet"])
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return code, judged(arguments, code, said.getvalue())


def judged(arguments, code, said):
    """What is wrong with an exit code or with what was said; empty where all is well."""
    text = " ".join(said.split())
    if "Traceback" in text:
        return f"a traceback: {text[-200:]}"
    if code not in CODES[arguments[0]]:
        return f"exit code {code}: {text[-200:]}"
    # Exceptions that nobody expected are told with the name of their class.
    if code == 1 and re.search(r"error: [\w.]+: ", text):
        return f"a raw exception: {text[-200:]}"
    return ""


def came_to_apart(arguments):
    """The same in a process of its own, which a signal may end."""
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            code, problem = came_to(arguments)
            said.write(problem)
            said.flush()
            os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return code, f"signal {-code}" if code < 0 else said.read()


def came_to_started(arguments):
    """The same by an interpreter of its own, as in a shell."""
    command = [sys.executable, "-m", "loadstone.cli", *arguments, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, judged(arguments, done.returncode, done.stdout + done.stderr)


#: How a damaged file is given to its command.
WAYS = {"": came_to, "--apart": came_to_apart, "--started": came_to_started}


def tried(name, contents, way=came_to):
    """Counts of exit codes over some contents of a file, and every violation."""
    command = KINDS[name][1]
    copy = Path(f"damaged-{name}")
    counts, wrong = Counter(), []
    for number, content in enumerate(contents):
        copy.write_bytes(content)
        code, problem = way(command(copy.name))
        counts[code] += 1
        wrong += [f"{name} [{number}] {problem}"] if problem else []
    return counts, wrong


def main(n_flips, n_cuts, seed, way, *names):
    """Print one row per kind; whether anything was violated."""
    from loadstone.files import h5ad_files, statistics_files

    bad, counted = [], time.process_time()
    if n_flips + n_cuts > 100:
        h5ad_files.refuse_unreadable = looked_through_by_a_fork
        statistics_files.refuse_unreadable = looked_through_by_a_fork
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        FRAME.to_csv("data.csv", index=False)
        for name in names or KINDS:
            KINDS[name][0](Path(name))
            whole = came_to(KINDS[name][1](name))
            assert whole == (0, ""), (name, whole)
            content = Path(name).read_bytes()
            counts, wrong = tried(name, damaged(content, n_flips, n_cuts, seed), WAYS[way])
            bad += wrong
            forged = ""
            if name in FORGED:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                codes, wrong = tried(name, [FORGED[name]])
                more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
                bad += wrong + ([f"{name}: {more:.0f} MB for a forged header"] * (more > 200))
                bad += [f"{name}: a forged header was read"] * (0 in codes)
                forged = f"forged: {dict(codes)}, {more:.0f} MB more"
            print(f"{name:16} {n_flips} flips, {n_cuts} cuts: {dict(counts)} {forged}", flush=True)
        os.chdir("/")
    print("\n".join(bad), f"{time.process_time() - counted:.0f} s of CPU time", sep="\n")
    return bool(bad)


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    words = [a for a in sys.argv[1:] if not a.isdigit()]
    chosen = next((word for word in words if word in WAYS), "")
    kinds = [word for word in words if word not in WAYS]
    sys.exit(main(*numbers, *([0] * (3 - len(numbers))), chosen, *kinds))
