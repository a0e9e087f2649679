"""Joint certificates on disk: plain arrays and a text in one ``.npz`` file, no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from loadstone.certificates.bound_dual import Dual
from loadstone.certificates.certificate_about import About
from loadstone.certificates.certificate_file import fields_of, parts_of, stored_parts
from loadstone.certificates.joint_bound import JointProof
from loadstone.certificates.problem import Array
from loadstone.constraints import Constraint
from loadstone.files.npy_arrays import DamagedError
from loadstone.files.npz_json import decode, encode
from loadstone.files.own_archive import JOINT_FORMAT, checked, json_of, text_of, write_own

if TYPE_CHECKING:
    from loadstone.certificates.joint_certificate import JointCertificate

FORMAT = 1
_STATED = "stated_"
_PROOF = "proof_"
#: Before the arrays of the certificate of one component.
_ALONE = "alone_"
#: Kind and dimension of the arrays of a proof.
_PARTS = {
    "features": ("iu", 1),
    "pairing": ("f", 2),
    "shift": ("f", 1),
    "factor": ("f", 2),
    "matrix": ("f", 2),
    "prices": ("f", 1),
}
_DUAL = ("features", "pairing", "shift", "factor")


def save_joint(certificate: JointCertificate, path: str | Path) -> None:
    """Write a joint certificate to exactly this path.

    ``claims`` is a list in JSON: quantity, value, upper bound, component, theorem and level of
    each. The arrays of claim i are called ``proof_i_pairing`` and so on; ``stated`` is JSON of the
    constraints and of what the certificate is about, with its arrays in ``stated_...``.
    """
    arrays: dict[str, Any] = {}
    stated = encode({"constraints": certificate.constraints, "about": certificate.about}, arrays)
    parts = {
        JOINT_FORMAT: np.array(FORMAT),
        "loadings": certificate.loadings,
        "relation": np.array(certificate.relation),
        "seconds": np.array(float(certificate.seconds)),
        "stated": np.array(json.dumps(stated)),
        **{f"{_STATED}{name}": array for name, array in arrays.items()},
        "claims": np.array(json.dumps([_claim_as_json(c) for c in certificate.claims])),
    }
    for i, claim in enumerate(certificate.claims):
        proof = claim.proof
        dual = {} if proof.dual is None else {name: vars(proof.dual)[name] for name in _DUAL}
        given = {**dual, "matrix": proof.matrix, "prices": proof.prices}
        alone = {} if proof.alone is None else parts_of(vars(proof.alone))
        given |= {f"{_ALONE}{name}": part for name, part in alone.items()}
        parts |= {f"{_PROOF}{i}_{k}": v for k, v in given.items() if v is not None}
    write_own(Path(path), parts)


def _claim_as_json(claim: Any) -> dict[str, Any]:
    return {
        "quantity": claim.quantity,
        "value": float(claim.value),
        "upper_bound": float(claim.upper_bound),
        "component": claim.component,
        "theorem": claim.proof.theorem,
        "level": float(claim.proof.level),
    }


def load_joint(path: str | Path) -> JointCertificate:
    """The certificate that :func:`save_joint` wrote, each part checked.

    Raises
    ------
    CertificateError
        If the file is damaged, is no joint certificate, or was written by a newer loadstone.
    """
    names = (JOINT_FORMAT, "claims")
    with stored_parts(path, _is_expected, names, (FORMAT,), "joint certificate") as stored:
        return _certificate(stored)


def _is_expected(name: str) -> bool:
    named = {JOINT_FORMAT, "loadings", "relation", "seconds", "stated", "claims"}
    return name in named or name.startswith((_STATED, _PROOF))


def _certificate(stored: Mapping[str, Array]) -> JointCertificate:
    from loadstone.certificates.joint_certificate import JointCertificate, refuse_malformed

    arrays = {n.removeprefix(_STATED): a for n, a in stored.items() if n.startswith(_STATED)}
    stated = decode(json_of(stored["stated"]), arrays)
    constraints, about = stated["constraints"], stated["about"]
    if not isinstance(about, About) or not isinstance(constraints, tuple):
        msg = "what it is about is not stated"
        raise DamagedError(msg)
    if not all(isinstance(constraint, Constraint) for constraint in constraints):
        msg = "something else in the place of a constraint"
        raise DamagedError(msg)
    claims = json_of(stored["claims"])
    certificate = JointCertificate(
        loadings=checked(stored["loadings"], "loadings", "f", 2),
        constraints=constraints,
        relation=text_of(stored["relation"]),
        claims=tuple(_claim(claim, stored, i) for i, claim in enumerate(claims)),
        about=about,
        seconds=float(checked(stored["seconds"], "seconds", "f", 0)),
    )
    refuse_malformed(certificate)
    return certificate


def _claim(claim: dict[str, Any], stored: Mapping[str, Array], i: int) -> Any:
    from loadstone.certificates.certificate import Certificate
    from loadstone.certificates.joint_certificate import JointClaim

    parts = {
        name: checked(stored[key], key, *rule)
        for name, rule in _PARTS.items()
        if (key := f"{_PROOF}{i}_{name}") in stored
    }
    held = [name for name in _DUAL if name in parts]
    dual = Dual(*(parts[name] for name in _DUAL)) if held else None
    prefix = f"{_PROOF}{i}_{_ALONE}"
    alone = {n.removeprefix(prefix): a for n, a in stored.items() if n.startswith(prefix)}
    component = claim["component"]
    if component is not None and type(component) is not int:
        msg = f"{component!r} in the place of the number of a component"
        raise DamagedError(msg)
    return JointClaim(
        quantity=str(claim["quantity"]),
        value=_number(claim["value"]),
        upper_bound=_number(claim["upper_bound"]),
        component=component,
        proof=JointProof(
            theorem=str(claim["theorem"]),
            dual=dual,
            matrix=parts.get("matrix"),
            level=_number(claim["level"]),
            prices=parts.get("prices"),
            alone=Certificate(**fields_of(alone)) if alone else None,
        ),
    )


def _number(value: Any) -> float:
    if type(value) is not float or not np.isfinite(value):
        msg = f"{value!r} in the place of a number"
        raise DamagedError(msg)
    return value
