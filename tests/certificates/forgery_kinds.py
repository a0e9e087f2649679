"""What a forger may change in a certificate: every change makes it false or malformed."""

from dataclasses import replace

import numpy as np

from loadstone.certificates.proof_cases import ProofCase


def forged(certificate, **fields):
    """A copy with other fields; its own checks are not asked."""
    copy = replace(certificate)
    for name, value in fields.items():
        object.__setattr__(copy, name, value)
    return copy


def with_dual(certificate, rng, change):
    """The certificate with one dual changed; ``None`` where it has none."""
    places = [(i, j) for i, case in enumerate(certificate.cases) for j in range(len(case.duals))]
    if not places:
        return None
    i, j = places[rng.integers(len(places))]
    case = certificate.cases[i]
    duals = (*case.duals[:j], change(case.duals[j]), *case.duals[j + 1 :])
    cases = (*certificate.cases[:i], replace(case, duals=duals), *certificate.cases[i + 1 :])
    return forged(certificate, cases=cases)


def poisoned(array, rng, bad=np.nan):
    copy = np.array(array, dtype=np.float64)
    copy.flat[rng.integers(copy.size)] = bad
    return copy


# ----------------------------------------------------------------------------- kinds of forgery


def other_dtype(certificate, rng):
    part = str(rng.choice(["pairing", "shift", "factor"]))
    dtype = rng.choice(["int8", "int16", "float32", "complex128", "bool", "object"])
    change = lambda dual: replace(dual, **{part: np.round(vars(dual)[part]).astype(dtype)})  # noqa: E731
    return with_dual(forged(certificate, upper_bound=certificate.best_value), rng, change)


def overflowing_dual(certificate, rng):
    def change(dual):
        small = np.full(dual.pairing.shape, 12, dtype=np.int8)
        return replace(dual, pairing=small)

    return with_dual(certificate, rng, change)


def not_finite(certificate, rng):
    name = str(
        rng.choice(["loading", "best_loading", "value", "upper_bound", "best_value", "dual"])
    )
    bad = float(rng.choice([np.nan, np.inf, -np.inf]))
    if name == "dual":
        part = str(rng.choice(["pairing", "shift", "factor"]))
        return with_dual(
            certificate, rng, lambda d: replace(d, **{part: poisoned(vars(d)[part], rng, bad)})
        )
    if "loading" in name:
        value = "value" if name == "loading" else "best_value"
        changed = {
            name: poisoned(vars(certificate)[name], rng, bad),
            value: certificate.upper_bound,
        }
        return forged(certificate, **changed)
    return forged(certificate, **{name: bad})


def lowered_bound(certificate, rng):
    share = 10.0 ** rng.uniform(-4, -0.3)
    bound = certificate.upper_bound
    return forged(certificate, upper_bound=bound - share * abs(bound))


def raised_value(certificate, rng):
    share = 10.0 ** rng.uniform(-4, 0)
    name = str(rng.choice(["value", "best_value"]))
    value = vars(certificate)[name]
    return forged(certificate, **{name: value + share * abs(value)})


def other_loading(certificate, rng):
    name = str(rng.choice(["loading", "best_loading"]))
    w = vars(certificate)[name]
    kind = rng.integers(5)
    if kind == 0:
        w = rng.permutation(w)
        if np.allclose(np.abs(w), np.abs(vars(certificate)[name])):
            return None
    elif kind == 1:
        w = w * rng.uniform(1.1, 2.0)
    elif kind == 2:
        w = np.ones_like(w) / np.sqrt(w.size)
    elif kind == 3:
        w = w[:-1]
    else:
        w = w.astype(rng.choice(["float32", "complex128", "object"]))
    return forged(certificate, **{name: w})


def more_fixed(certificate, rng):
    """A feature of the best component is called useless, or one it does not use necessary."""
    support = np.flatnonzero(certificate.best_loading)
    if rng.random() < 0.5:
        out = np.union1d(certificate.fixed_out, rng.choice(support))
        return forged(certificate, fixed_out=out.astype(np.intp))
    others = np.setdiff1d(np.arange(certificate.loading.size), support)
    if not others.size:
        return None
    more = np.union1d(certificate.fixed_in, rng.choice(others))
    return forged(certificate, fixed_in=more.astype(np.intp))


def malformed_fixed(certificate, rng):
    n = certificate.loading.size
    bad = [np.array([n]), np.array([-1]), np.array([0.0]), np.array([1, 0]), np.array([[0]]), [0]]
    name = str(rng.choice(["fixed_in", "fixed_out"]))
    return forged(certificate, **{name: bad[rng.integers(len(bad))]})


def other_tree(certificate, rng):
    """Cases that are missing, too many, or branch on what is no feature."""
    cases = certificate.cases
    kind = rng.integers(5)
    if kind == 0:
        return forged(certificate, cases=cases[:-1])
    if kind == 1:
        return forged(certificate, cases=(*cases, ProofCase()))
    if kind == 2:
        bad = [certificate.loading.size, -1, 1.5, "0", True, np.nan]
        feature = bad[rng.integers(len(bad))]
        return forged(certificate, cases=(replace(cases[0], feature=feature), *cases[1:]))
    if kind == 3:
        bad = [list(cases), None, (None,), ()]
        return forged(certificate, cases=bad[rng.integers(len(bad))])
    lone = ProofCase((), 0)
    return forged(certificate, cases=(lone, *cases))


def no_proof(certificate, rng):
    """The proof thrown away, the bound kept."""
    if not any(case.duals for case in certificate.cases):
        return None
    if certificate.upper_bound >= without_duals(certificate):
        return None
    return forged(certificate, cases=(ProofCase(),))


def without_duals(certificate):
    from loadstone.certificates.certificate_about import covariance_for
    from loadstone.certificates.certificate_value import lower_value, recomputed

    S = covariance_for(certificate_data[id(certificate)], certificate.about)
    known = lower_value(certificate.earlier.measured_in(S), certificate.best_loading)
    stripped = (ProofCase(),)
    rule, earlier = certificate.constraint, certificate.earlier
    return recomputed(S, rule, earlier, known, stripped).bound * (1 - 1e-4)


certificate_data = {}


def misshapen_dual(certificate, rng):
    kind = rng.integers(4)
    changes = [
        lambda d: replace(d, pairing=d.pairing[:-1]),
        lambda d: replace(d, shift=np.append(d.shift, 0.0)),
        lambda d: (
            replace(d, features=d.features[::-1]) if d.features.size > 1 else replace(d, shift=None)
        ),
        lambda d: replace(d, features=d.features + certificate.loading.size),
    ]
    return with_dual(certificate, rng, changes[kind])


def other_earlier(certificate, rng):
    earlier = certificate.earlier
    W = earlier.loadings
    kind = rng.integers(6)
    if kind == 0:
        return forged(certificate, earlier=replace(earlier, relation="related"))
    if kind == 1:
        return forged(certificate, earlier=replace(earlier, deflation="mean", relation="none"))
    if earlier.count == 0:
        return forged(certificate, earlier=replace(earlier, loadings=np.full((3, 2), np.nan)))
    if kind == 2:
        return forged(certificate, earlier=replace(earlier, loadings=2.0 * W))
    if kind == 3:
        return forged(certificate, earlier=replace(earlier, loadings=W.astype(np.float32)))
    if kind == 4:
        return forged(certificate, earlier=replace(earlier, loadings=poisoned(W, rng)))
    return forged(certificate, earlier=replace(earlier, loadings=W[:-1]))


def moved_earlier(certificate, rng):
    """Other earlier components: what they left is another matrix."""
    earlier = certificate.earlier
    if earlier.count == 0 or earlier.relation == "disjoint":
        return None
    W = np.linalg.qr(rng.standard_normal(earlier.loadings.shape))[0]
    return forged(certificate, earlier=replace(earlier, loadings=W))


def other_about(certificate, rng):
    about = certificate.about
    changes = [
        {"precision": "float16"},
        {"trace": about.trace * 1.01},
        {"n_features": about.n_features + 1},
        {"n_samples": about.n_samples + 1},
        {"probe": np.nan},
        {"squares": -about.squares},
    ]
    return forged(certificate, about=replace(about, **changes[rng.integers(len(changes))]))


def smaller_constraint(certificate, rng):
    """A rule the component itself breaks."""
    rule = certificate.constraint
    support = np.flatnonzero(certificate.loading)
    if support.size < 2:
        return None
    if rng.random() < 0.5 or "n_nonzero" not in vars(rule) or type(rule).__name__ == "Signs":
        return forged(certificate, constraint=rule.without(support[:1]))
    smaller = object.__new__(type(rule))
    smaller.__dict__.update(vars(rule), n_nonzero=support.size - 1)
    return forged(certificate, constraint=smaller)


def no_constraint(certificate, rng):
    rule = certificate.constraint
    bad = object.__new__(type(rule))
    name = str(rng.choice([name for name in vars(rule) if not name.startswith("_")]))
    values = [None, "all", np.nan, -3]
    bad.__dict__.update(vars(rule), **{name: values[rng.integers(4)]})
    # Some of these say the same as before, or allow all features.
    known = {"per_group": (None,), "nonnegative": (), "n_nonzero": (None,)}
    if any(vars(bad)[name] is value for value in known.get(name, ())):
        return None
    return forged(certificate, constraint=bad)


def other_multipliers(certificate, rng):
    """Multipliers of slices that are negative, no numbers, or belong to no slice."""
    kind = rng.integers(4)
    changes = [
        lambda d: replace(d, multipliers=np.array([-1.0])),
        lambda d: replace(d, multipliers=np.array([rng.choice([np.nan, np.inf])])),
        lambda d: replace(d, multipliers=np.array([3], dtype=rng.choice(["int8", "float32"]))),
        lambda d: replace(d, multipliers=np.full(3, np.abs(d.shift).max())),
    ]
    return with_dual(certificate, rng, changes[kind])


def other_lines(certificate, rng):
    """Lines of another kind or number, lines beside a feature, slices that are left out."""
    first, rest = certificate.cases[0], certificate.cases[1:]
    n, kind = certificate.loading.size, rng.integers(6)
    lines = rng.standard_normal((n, 3)) if first.lines is None else first.lines
    bad = [
        lines.astype(rng.choice(["float32", "int8", "complex128", "object"])),
        poisoned(lines, rng, rng.choice([np.nan, np.inf])),
        lines[:-1],
        lines[:, :-1],
        lines[:, :1],
    ]
    if kind < len(bad):
        return forged(certificate, cases=(replace(first, lines=bad[kind]), *rest))
    return forged(certificate, cases=(replace(first, lines=lines, feature=0), *rest))


FORGERIES = (
    other_dtype,
    overflowing_dual,
    not_finite,
    lowered_bound,
    raised_value,
    other_loading,
    more_fixed,
    malformed_fixed,
    other_tree,
    no_proof,
    misshapen_dual,
    other_earlier,
    moved_earlier,
    other_about,
    smaller_constraint,
    no_constraint,
    other_multipliers,
    other_lines,
)
