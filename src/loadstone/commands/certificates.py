"""``certify`` and ``verify``: proofs about the components of a model, made and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from loadstone.commands.fit import adds_up
from loadstone.commands.models import opened
from loadstone.commands.outputs import refuse_results, write_together
from loadstone.commands.progress import Stages, stages
from loadstone.commands.reading import Reading, named
from loadstone.commands.terminal import Terminal
from loadstone.files.errors import ModelFileError
from loadstone.files.table import Table

#: Files of the folder; an earlier run may have written more of them than this one.
NAME, JOINT = "certificate_{}.npz", "joint.npz"
KNOWN = (JOINT, *(NAME.format(j + 1) for j in range(10_000)))


def certify(
    terminal: Terminal,
    model_file: Path,
    reading: Reading,
    effort: str,
    time_limit: float | None,
    output: Path | None,
    *,
    force: bool,
) -> None:
    """Prove how close the components of a model are to the best possible ones."""
    from loadstone.report.evidence import joint_as_json

    if output is not None:
        refuse_results(output, KNOWN, force=force, inputs=[model_file, reading.file])
    with stages(terminal.err, quiet=terminal.quiet) as steps:
        model, table = opened(terminal, model_file, reading, steps)
        _refuse_nothing(model, model_file)
        certificates, joint = _proofs(terminal, model, table, effort, time_limit, steps)
        together = [] if joint is None or not joint.claims else [joint]
        files = _saved([*certificates, *together], output, force=force)
    for j, certificate in enumerate(certificates):
        terminal.say(f"component {j + 1}: {certificate}")
    if joint is not None:
        terminal.say(str(joint))
    terminal.result(
        "certify",
        {
            "joint": None if joint is None else joint_as_json(joint),
            "components": [
                {
                    "component": j + 1,
                    "value": float(c.value),
                    "upper_bound": float(c.upper_bound),
                    "ratio": float(c.ratio),
                    "is_optimal": bool(c.is_optimal),
                    "proof": str(c.proof),
                    "sentence": str(c),
                }
                for j, c in enumerate(certificates)
            ],
            "files": files,
        },
    )


def _refuse_nothing(model: Any, file: Path) -> None:
    """Say that there is nothing to certify, where no component was found."""
    if not model.components_.shape[0]:
        msg = (
            f"{file} is a model with 0 components, and at least one is needed to certify; fit one "
            "that has components, such as with --method sparse"
        )
        raise ModelFileError(msg)


def _proofs(
    terminal: Terminal,
    model: Any,
    table: Table,
    effort: str,
    time_limit: float | None,
    steps: Stages,
) -> tuple[list[Any], Any]:
    """The proof of each component, and that of all together where there are several."""
    from loadstone.certificates import prove
    from loadstone.estimators.found import Task
    from loadstone.estimators.reading import read
    from loadstone.estimators.sequential import SequentialComponents
    from loadstone.extraction import competitions, prove_jointly

    limits: dict[str, Any] = {"effort": effort, "time_limit": time_limit}
    if not isinstance(model, SequentialComponents):
        return [_first_alone(terminal, model, table, limits, steps)], None
    data = read(named(table), table.weights, standardize=model.scale_ is not None)
    S, loadings = data.S, model.components_.T
    plan, constraints = model.plan(Task(data, np.random.default_rng(0))), model.constraints_on(data)
    steps.next(f"Certifying {model.n_components_} component(s)", model.n_components_)
    found = []
    competing = competitions(loadings, constraints, plan)
    for w, (constraint, earlier) in zip(loadings.T, competing, strict=True):
        found.append(prove(S, constraint, w, earlier=earlier, progress=steps.proof, **limits))
        steps.advance()
    if len(found) < 2:
        return found, None
    steps.next("Certifying all components together")
    return found, prove_jointly(
        S, loadings, constraints, plan, effort, time_limit=time_limit, alone=found[0]
    )


def _first_alone(
    terminal: Terminal, model: Any, table: Table, limits: dict[str, Any], steps: Stages
) -> Any:
    """The proof of the first component, where all of them were searched together."""
    from loadstone.selection.certify import certify as certify_one

    w = model.components_[0]
    if model.n_components_ > 1:
        terminal.note("note: this method searches jointly; only the first component is certified")
    steps.next("Certifying component 1")
    return certify_one(
        _weighted(table),
        w,
        n_nonzero=int(np.count_nonzero(w)),
        nonnegative=adds_up(model),
        standardize=model.scale_ is not None,
        **limits,
    )


def _weighted(table: Table) -> Any:
    """The data as certificates take it; weights of rows are kept in its covariance."""
    from loadstone.covariance.sample import SampleCovariance

    if table.weights is None:
        return named(table)
    return SampleCovariance.of(named(table), table.weights)


def _saved(certificates: list[Any], output: Path | None, *, force: bool) -> list[str]:
    """Write certificates to a folder, where one was asked for."""
    from loadstone.certificates import JointCertificate

    if output is None:
        return []
    names = [
        JOINT if isinstance(c, JointCertificate) else NAME.format(j + 1)
        for j, c in enumerate(certificates)
    ]
    writers = {name: c.save for name, c in zip(names, certificates, strict=True)}
    return [str(file) for file in write_together(output, writers, KNOWN, force=force)]


def verify(terminal: Terminal, file: Path, reading: Reading) -> None:
    """Check a certificate, or all of a model, against the data it is about."""
    with stages(terminal.err, quiet=terminal.quiet) as steps:
        steps.next(f"Reading {reading.file.name}")
        certificates, X = _with_data(terminal, file, reading, steps)
        steps.next(f"Checking {len(certificates)} certificate(s)", len(certificates))
        bounds = []
        for certificate in certificates:
            bounds.append(float(certificate.verify(X)))
            steps.advance()
    for certificate in certificates:
        terminal.say(f"verified: {certificate}")
    terminal.result(
        "verify",
        {
            "certificates": [
                {"sentence": str(c), "value": float(c.value), "upper_bound": bound}
                for c, bound in zip(certificates, bounds, strict=True)
            ],
            "files": [],
        },
    )


def _with_data(
    terminal: Terminal, file: Path, reading: Reading, steps: Stages
) -> tuple[list[Any], Any]:
    """The certificates of a file, and the data as it was when they were made."""
    from loadstone.certificates import Certificate, CertificateError
    from loadstone.certificates.joint_file import load_joint
    from loadstone.covariance.sample import SampleCovariance
    from loadstone.covariance.sample_file import is_sample_file
    from loadstone.files.errors import MissingFileError
    from loadstone.files.own_archive import JOINT_FORMAT, MODEL_HEADER, damaged, has_member
    from loadstone.files.reachable import is_at_hand

    if not is_at_hand(file):
        msg = f"there is no certificate file {file}; loadstone certify --output writes them"
        raise MissingFileError(msg)
    with damaged(file, "save the certificate again", CertificateError):
        is_model = has_member(file, MODEL_HEADER)
        is_joint = has_member(file, JOINT_FORMAT)
    if is_model:
        model, table = opened(terminal, file, reading, steps)
        joint = vars(model).get("joint_certificate_")
        certificates = list(vars(model).get("certificates_", []))
        certificates += [joint] if joint is not None and joint.claims else []
        if not certificates:
            msg = f"{file} is a model without certificates; use loadstone certify"
            raise CertificateError(msg)
        return certificates, _weighted(table)
    certificate = load_joint(file) if is_joint else Certificate.load(file)
    if is_sample_file(reading.file):
        return [certificate], SampleCovariance.load(reading.file)
    return [certificate], _weighted(reading.table())
