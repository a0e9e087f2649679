"""Rivals in R, run by ``Rscript`` where it is installed; else they are skipped with a sentence.

Data go to R as a file of doubles and loadings come back as text, with the processor seconds of the
fit alone on the first line.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.runner import Array, Fit, Method, Task

#: What every script begins with: ``X``, ``k``, ``r`` and ``nonnegative`` from the command line.
READ = """
asked <- commandArgs(trailingOnly = TRUE)
n <- as.integer(asked[2]); d <- as.integer(asked[3]); k <- as.integer(asked[4])
r <- as.integer(asked[5]); nonnegative <- asked[6] == "1"
X <- matrix(readBin(asked[1], "double", n * d), n, d)
start <- proc.time()[["user.self"]]
"""
#: And ends with.
WRITE = """
cat(proc.time()[["user.self"]] - start, "\\n")
write.table(t(as.matrix(W)), row.names = FALSE, col.names = FALSE)
"""
SCRIPTS = {
    "nsprcomp": """
W <- nsprcomp::nsprcomp(X, ncomp = r, k = k, nneg = nonnegative, center = FALSE)$rotation
""",
    "msPCA": """
W <- msPCA::mspca(crossprod(X) / (n - 1), r, rep(k, r), verbose = FALSE)$x_best
""",
    "elasticnet": """
W <- elasticnet::spca(X, K = r, para = rep(k, r), type = "predictor", sparse = "varnum")$loadings
""",
    # The l1 norm that leaves k loadings is found by bisection.
    "PMA": """
low <- 1; high <- sqrt(d); W <- NULL
for (step in 1:20) {
  middle <- (low + high) / 2
  v <- PMA::SPC(X, sumabsv = middle, K = 1, center = FALSE, trace = FALSE)$v
  if (sum(v != 0) <= k) { W <- v; low <- middle } else high <- middle
}
""",
}


def has_package(package: str) -> bool:
    """Whether R is installed, with the package."""
    if shutil.which("Rscript") is None:
        return False
    asked = f'quit(status = !requireNamespace("{package}", quietly = TRUE))'
    return (
        subprocess.run(["Rscript", "-e", asked], check=False, capture_output=True).returncode == 0
    )


def run_r(script: str, X: Array, task: Task) -> Fit:
    """Loadings and processor seconds of a script."""
    with tempfile.TemporaryDirectory() as folder:
        data, program = Path(folder) / "data.bin", Path(folder) / "fit.R"
        np.asfortranarray(X).ravel(order="F").tofile(data)
        program.write_text(READ + script + WRITE, encoding="utf-8")
        numbers = [*X.shape, task.n_nonzero, task.n_components, int(task.nonnegative)]
        command = ["Rscript", str(program), str(data), *map(str, numbers)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    first, *lines = done.stdout.strip().splitlines()
    components = np.array([[float(word) for word in line.split()] for line in lines])
    return Fit(components=components, cpu_seconds=float(first))


def r_method(package: str, *, nonnegative: bool = False, several: bool = False) -> Method:
    """A method of an R package, and what it cannot do."""

    def refuses(X: Array, task: Task) -> str:
        if task.nonnegative and not nonnegative:
            return f"{package} has no non-negative loadings"
        if task.n_components > 1 and not several:
            return f"{package} is not run with several components"
        if not has_package(package):
            return f'R with {package} is not installed: install.packages("{package}")'
        return ""

    return Method(
        name=package, find=lambda X, task: run_r(SCRIPTS[package], X, task), refuses=refuses
    )


R_METHODS = (
    r_method("nsprcomp", nonnegative=True, several=True),
    r_method("msPCA", several=True),
    r_method("elasticnet"),
    r_method("PMA"),
)
