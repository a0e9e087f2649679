"""Checks in environments of their own: ``nox -l`` lists them, ``nox -s NAME`` runs one."""

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "tests"]

#: The versions of Python named in the classifiers of pyproject.toml, all of them tried.
PYTHONS = ["3.11", "3.12", "3.13"]

#: Old releases are scolded by newer ones they stand on; that is not ours to mend.
SCOLDING = [f"ignore::{kind}" for kind in ("DeprecationWarning", "FutureWarning")]

#: Every compiled kernel is called by one of these, and as plain Python they end in minutes.
KERNEL_TESTS = [
    "tests/certificates",
    "tests/extraction",
    "tests/solvers",
    # Whole fits and maximisations of the Bayesian model: their kernels have tests of their own.
    "--ignore=tests/solvers/variational_bayes/test_model.py",
    "--deselect=tests/solvers/variational_bayes/test_priors.py"
    "::test_inverse_gaussian_hyperparameters_reach_a_maximum",
]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run all tests with the newest dependencies, on every Python that is installed."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session(python=PYTHONS[0], venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Run all tests with the oldest direct dependencies that pyproject.toml allows."""
    session.install("--resolution", "lowest-direct", "-e", ".[test]")
    warnings = [part for rule in SCOLDING for part in ("-W", rule)]
    session.run("pytest", "-n", "auto", *warnings, *session.posargs)


@nox.session(python=PYTHONS[0])
def nojit(session: nox.Session) -> None:
    """Run the kernels as plain Python, where an index out of range is an error."""
    session.install("-e", ".[test]")
    arguments = session.posargs or KERNEL_TESTS
    session.run("pytest", "-n", "auto", *arguments, env={"NUMBA_DISABLE_JIT": "1"})


@nox.session(python=PYTHONS[0])
def minimal(session: nox.Session) -> None:
    """Run what needs no optional package, without any; the rest says what it needs."""
    session.install(".", "pytest", "hypothesis")
    session.run(
        "pytest",
        "tests",
        "-p",
        "without_optional",
        # Counts the contract tests, which collect their Dask containers with the others.
        "--deselect=tests/test_contract_count.py",
        *session.posargs,
        env={"PYTHONPATH": "tests"},
    )


@nox.session(python=PYTHONS[0])
def papers(session: nox.Session) -> None:
    """Measure the claims of the papers quickly, and assert every verdict that this can decide."""
    session.install("-e", ".[test]")
    session.run("pytest", "experiments", *session.posargs)


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Run the linters of .ci/run and of the pre-commit hooks."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("codespell")


@nox.session(python=PYTHONS[0])
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    session.install("-e", ".[docs]")
    session.run("python", "-m", "sphinx", "-q", "-W", "-b", "html", "docs", "docs/_build")
