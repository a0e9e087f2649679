"""Check a joint certificate without loadstone: ``python verify_joint_certificate.py FILE DATA``.

One file, NumPy alone, to be read in ten minutes; it shares no code with the package that wrote
the certificate. DATA is an NPY, NPZ or CSV file with samples in rows, or a covariance: a symmetric
matrix. The theorems, their proofs and the format are on the page ``docs/joint_certificates.md``;
names here are those of that page.

What is assumed: numbers are IEEE doubles, and a matrix product is a sum of products in any order.
No eigensolver and no factorisation is trusted: their results are checked (``top``).
"""

import json
import sys
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np

U = 2.0**-53
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
KEPT_TO = {"float64": 1e-6, "float32": 1e-4}
MOST_SUPPORTS = 60_000
SUMS = {"disjoint": ("KF", "A", "B", "DP"), "strict": ("KF", "B"), "uncorrelated": ("KF", "D")}


class RefusedError(Exception):
    """The certificate does not hold; the message says why."""


def need(condition, why):
    """Go on only if the condition is plainly true; NaN makes comparisons false."""
    if not bool(condition):
        raise RefusedError(why)


def gamma(n):
    """What n roundings may change, relatively."""
    return n * U / (1 - n * U)


# ------------------------------------------------------------------- eigenvalues from above


def tops(B, error=0.0):
    """For each matrix of a stack an upper bound of lambda_max, and of all within ``error`` of it.

    If tI - M = GG' + R then lambda_max(M) <= t + |R|, |R| the largest absolute row sum, for any G.
    """
    n = B.shape[-1]
    t = np.linalg.eigvalsh(B)[..., -1]
    spread = np.abs(B).sum(-1).max(-1)
    shift = 8 * n * U * spread + 1e-300
    for _ in range(60):
        C = (t + shift)[..., None, None] * np.eye(n) - B
        try:
            G = np.linalg.cholesky(C)
        except np.linalg.LinAlgError:
            shift = shift * 4
            continue
        Gt = np.swapaxes(G, -1, -2)
        R = np.abs(C - G @ Gt) + gamma(n + 2) * (np.abs(C) + np.abs(G) @ np.abs(Gt)) + error
        return (t + shift + R.sum(-1).max(-1) * (1 + 4 * gamma(n))) * (1 + 2 * U) + 1e-300
    return (spread + np.broadcast_to(error, B.shape).sum(-1).max(-1)) * (1 + 4 * gamma(n + 2))


def top(M, error=0.0):
    """The same for one matrix."""
    return float(tops(M[None], error)[0])


def up(value, n=16):
    """A number after n roundings, made larger than the exact one."""
    return value + 4 * n * U * abs(value) + 1e-300


def ky_fan(M, error, r):
    """M <= GG' + tI gives KF_r(M) <= |G|^2 + rt, for any G."""
    r = min(r, len(M))
    values, V = np.linalg.eigh(M)
    G = V[:, -r:] * np.sqrt(np.maximum(values[-r:] - values[-r], 0))
    doubt = error + gamma(r + 3) * (np.abs(M) + np.abs(G) @ np.abs(G.T))
    rest, square = r * top(M - G @ G.T, doubt), np.square(G).sum() * (1 + 2 * gamma(G.size + 2))
    return rest + square + 16 * U * (abs(rest) + square)


def pencil(S, error, K, K_error, r):
    """K >= kI and S <= tK + FF' + dI give KF_r(S, K) <= rt + tr F'F/K + rd/k."""
    n, r = len(S), min(r, len(S))
    kappa = -top(-K, K_error)
    if not kappa > 0:
        return np.inf
    root = np.linalg.inv(np.linalg.cholesky(K))
    values, V = np.linalg.eigh(root @ S @ root.T)
    t = max(values[-r], 0.0)
    H = (root.T @ V[:, -r:]) * np.sqrt(np.maximum(values[-r:] - t, 0))
    F = K @ H
    doubt = gamma(r + 6) * (np.abs(S) + t * np.abs(K) + np.abs(F) @ np.abs(F.T)) + error
    d = max(0.0, top(S - t * K - F @ F.T, doubt + t * K_error))
    delta = (gamma(n + 2) * np.abs(K) + K_error) @ np.abs(H)
    trace = np.sum(H * F) + np.sum(np.abs(H) * (delta + gamma(n * r + 2) * np.abs(F)))
    root = np.sqrt(max(trace, 0)) * (1 + 8 * U) + np.linalg.norm(delta) * 1.001 / np.sqrt(kappa)
    return up(r * t + root**2 + r * d / kappa)


# ----------------------------------------------------------------------- what sparsity limits


def supports(rule):
    """All largest supports, as positions."""
    free = np.setdiff1d(rule["at"], rule["forced"]).tolist()
    count = min(rule["k"] - len(rule["forced"]), len(free))
    need(comb(len(free), count) <= MOST_SUPPORTS, "too many supports to try all of them")
    T = np.array(list(combinations(free, count)), dtype=int).reshape(-1, count)
    return np.hstack([np.tile(rule["forced"], (len(T), 1)).astype(int), T])


def limits(M, T, nonnegative):
    """A limit of x'Mx for unit x on each support of T."""
    B = M[T[:, :, None], T[:, None, :]]
    if not nonnegative:
        return tops(B)
    k = T.shape[1]
    need(k <= 8, "too many faces to try all of them")
    found = np.full(len(T), -np.inf)
    for size in range(1, k + 1):
        for face in combinations(range(k), size):
            part = B[:, np.array(face)[:, None], np.array(face)]
            values, V = np.linalg.eigh(part)
            lead = V[:, :, -1] * np.where(V[:, :, -1].sum(1) < 0, -1, 1)[:, None]
            # Where x > 0 on a face is best, it is the leading eigenvector; ties count in any case.
            tied = size > 1 and values[:, -1] - values[:, max(size - 2, 0)] <= 1e-9 * np.abs(
                values
            ).max(1)
            counts = (lead >= -1e-9).all(1) | tied
            found = np.where(counts, np.maximum(found, tops(part)), found)
    return found


def terms(dual, rule):
    """w_i, rounded upwards; zero for features that may not be used."""
    at, n = rule["at"], len(dual["shift"])
    P = dual["pairing"][np.ix_(at, at)]
    Q = np.square(np.maximum(P, 0) if rule["nonnegative"] else P)
    np.fill_diagonal(Q, 0)
    forced = np.isin(at, rule["forced"])
    room = rule["k"] - forced.sum() - ~forced
    phi = Q[:, forced].sum(1)
    free = -np.sort(-Q[:, ~forced], axis=1)
    phi += np.array([free[i, : max(room[i], 0)].sum() for i in range(len(at))])
    tau = dual["shift"][at]
    root = np.sqrt(phi + tau**2)
    w = np.zeros(n)
    safe = np.where(tau > 0, root + tau, 1.0)
    w[at] = np.where(tau > 0, phi / (2 * safe), (root - tau) / 2) + np.square(
        dual["factor"][at]
    ).sum(1)
    return w * (1 + 8 * (n + dual["factor"].shape[1] + 16) * U) + 1e-300


def best_sum(w, rule):
    """The largest sum of terms over an admissible support."""
    forced = rule["forced"]
    free = -np.sort(-w[np.setdiff1d(rule["at"], forced)])
    return up(w[forced].sum() + free[: rule["k"] - len(forced)].sum(), len(w))


def dual_matrix(dual, level):
    """CI + LL' + (P + P')/2 - diag tau, and how far its entries may be off."""
    P, L = dual["pairing"].copy(), dual["factor"]
    np.fill_diagonal(P, 0)
    D = np.diag(level - dual["shift"])
    size = np.abs(L) @ np.abs(L.T) + (np.abs(P) + np.abs(P.T)) / 2
    size += np.diag(abs(level) + np.abs(dual["shift"]))
    M = L @ L.T + (P + P.T) / 2 + D
    return (M + M.T) / 2, gamma(L.shape[1] + 8) * size


# ---------------------------------------------------------------------------- the theorems


def negative(S):
    """D with S >= -dI; a covariance has none but rounding."""
    d = max(0.0, top(-S))
    need(d <= 1e-6 * max(np.diag(S).max(), 0) + 1e-290, "the matrix is no covariance")
    return d


def together(S, rules, relation, quantity, proof):
    """The bound of a claim about all components, S on the features that any may use."""
    theorem, r = proof["theorem"], len(rules)
    allowed = SUMS.get(relation, ())
    if quantity == "adjusted variance":
        allowed = {*allowed, "KF", "D"}
    need(theorem in allowed, f"theorem {theorem!r} says nothing about this")
    if theorem == "DP":
        return disjoint_optimum(S, rules)
    below = 0.0
    if quantity == "adjusted variance" or relation == "uncorrelated":
        below = negative(S)
    if theorem == "KF":
        return up(ky_fan(S, 0.0, r) + r * below)
    need((proof["dual"] is None) != (proof["matrix"] is None), "either a dual or a matrix")
    need(theorem != "A" or proof["dual"] is not None, "theorem A needs a dual")
    level = proof["level"] if theorem == "D" else 0.0
    if proof["dual"] is None:
        N = (proof["matrix"] + proof["matrix"].T) / 2
        error = gamma(1) * np.abs(N)
        each = [
            up(limits(N, supports(u), u["nonnegative"]).max() + error.sum(1).max()) for u in rules
        ]
        W = None
    else:
        N, error = dual_matrix(proof["dual"], level)
        W = np.array([terms(proof["dual"], u) for u in rules])
        each = [up(best_sum(w, u) + level) for w, u in zip(W, rules, strict=True)]
    if theorem == "D":
        return theorem_d(S, below, N, error, each, W, rules, relation, level)
    doubt = error + gamma(2) * (np.abs(S) + np.abs(N))
    if theorem == "A":
        p = np.maximum(proof["prices"], 0)
        over = np.maximum(W - p[:, None], 0).max(0).sum()
        added = up(sum(u["k"] * p for u, p in zip(rules, p, strict=True)) + over, W.size)
    else:
        added = up(sum(each))
    return up(ky_fan(S - N, doubt, r) + added + r * below)


def theorem_d(S, below, K, error, each, W, rules, relation, level):
    """sum_t mu_t lambda_t(S, K), by parts; disjoint components share no place."""
    r, n = len(rules), len(S)
    totals = np.cumsum(-np.sort(-np.array(each)))
    if relation == "disjoint" and W is not None:
        w, sizes = -np.sort(-W.max(0)), np.cumsum(-np.sort([-u["k"] for u in rules])[::1])
        shared = [w[:m].sum() + (t + 1) * level for t, m in enumerate(sizes)]
        totals = np.minimum(totals, shared)
    # Any sequence above the totals will do whose steps descend.
    steps = np.diff([0.0, *(totals * (1 + 64 * r * U))])
    steps = np.array([steps[t:].max() for t in range(r)] + [0.0])
    if not steps[0] > 0:
        return np.inf
    doubt = gamma(2) * (np.abs(S) + below * np.eye(n))
    S = S + below * np.eye(n)
    whole = pencil(S, doubt, K, error, r)
    total = steps[r - 1] * whole
    for t in range(r - 1):
        drop = steps[t] - steps[t + 1]
        total += drop * (whole if drop <= 1e-13 * steps[0] else pencil(S, doubt, K, error, t + 1))
    return up(float(total), 16 * r)


def disjoint_optimum(S, rules):
    """The best sum over disjoint supports: dynamic programming over sets of features."""
    n = len(S)
    need(n <= 20 and not any(len(u["forced"]) for u in rules), "too many sets of features")
    best = np.full(1 << n, -np.inf)
    best[0] = 0.0
    roomy = sum(u["k"] for u in rules) <= n and all(len(u["at"]) == n for u in rules)
    for u in rules:
        masks, values = [], []
        for size in range(u["k"] if roomy else 1, u["k"] + 1):
            need(comb(len(u["at"]), size) <= MOST_SUPPORTS, "too many supports to try all of them")
            T = np.array(list(combinations(u["at"].tolist(), size)), dtype=int)
            masks += (1 << T).sum(1).tolist()
            values += limits(S, T, u["nonnegative"]).tolist()
        known = np.flatnonzero(np.isfinite(best))
        need(len(known) * len(masks) <= 1e9, "too many sets of features")
        after = np.full(1 << n, -np.inf)
        for mask, value in zip(masks, values, strict=True):
            free = known[(known & mask) == 0]
            after[free | mask] = np.maximum(after[free | mask], best[free] + value)
        best = after
    return up(float(best.max()))


def left_after(S, W):
    """S - SW(W'SW)^-1W'S, and a limit of the norm of its error."""
    if W.shape[1] == 0:
        return S, 0.0
    SW = S @ W
    G = (W.T @ SW + SW.T @ W) / 2
    values = np.linalg.eigvalsh(G)
    need(values[0] > 1e-10 * values[-1], "earlier components repeat each other")
    solved = np.linalg.solve(G, SW.T)
    left = S - SW @ solved
    size = (np.abs(S) + np.abs(SW) @ np.abs(solved)).sum(1).max()
    return (left + left.T) / 2, 16 * (sum(W.shape) + 8) * values[-1] / values[0] * U * size


def recovered(S, W, rule, proof):
    """Theorem E for the component after W; the features of the rule are those of S."""
    theta, dual = proof["level"], proof["dual"]
    need(proof["theorem"] == "E" and theta >= 0, "theorem E is needed")
    left, error = left_after(S, W)
    size = np.abs(left)
    form = left @ left - theta * left
    norm = (gamma(len(S) + 4) * (size @ size + theta * size)).sum(1).max()
    norm = up(norm + error * (2 * size.sum(1).max() + error + theta), len(S))
    at = rule["at"]
    form = ((form + form.T) / 2)[np.ix_(at, at)]
    place = {**rule, "at": np.arange(len(at)), "forced": np.searchsorted(at, rule["forced"])}
    if dual is None:
        over = up(limits(form, supports(place), rule["nonnegative"]).max() + norm)
    else:
        N, doubt = dual_matrix(dual, 0.0)
        doubt = doubt + gamma(2) * (np.abs(form) + np.abs(N))
        over = up(top(form - N, doubt) + norm + best_sum(terms(dual, place), place))
    floor = 1e-6 * max(np.diag(left).max(), 0)
    return theta if over <= 0 else up(theta + over / floor) if floor > 0 else np.inf


# ------------------------------------------------------------------------- files and values


def plain(told, arrays):
    """JSON as it was written: dictionaries, tuples, numbers and the arrays it names."""
    if isinstance(told, list):
        return [plain(item, arrays) for item in told]
    if not isinstance(told, dict):
        return told
    kind = told["is"]
    if kind == "array":
        return arrays["stated_" + told["name"]]
    if kind in ("tuple", "range"):
        return [plain(item, arrays) for item in told["items"]]
    if kind == "float":
        return float(told["text"])
    inner = told["fields"] if kind == "dataclass" else told["items"]
    found = {name: plain(value, arrays) for name, value in inner.items()}
    return {**found, "class": told["class"].rpartition(":")[2]} if kind == "dataclass" else found


def rule_of(told, n):
    """A constraint as a size, a sign, and features; and the signs that make loadings positive."""
    closed = np.asarray(told["forbidden"], dtype=int)
    forced = np.asarray(told.get("forced", np.zeros(0)), dtype=int)
    k, flips, sign = told.get("n_nonzero"), np.ones(n), bool(told.get("nonnegative", False))
    kind = told["class"]
    need(kind in ("LoadingConstraint", "Signs", "Groups"), f"{kind} is not known here")
    length = len(told["labels"]) if kind == "Groups" else told["n_features"]
    need(length == n, f"a constraint is not about {n} features")
    if kind == "Signs":
        sign = len(told["pattern"]) == n
        for feature, given in told["pattern"] if sign else ():
            flips[feature] = given
    if kind == "Groups":
        _, counts = np.unique(np.asarray(told["labels"]), return_counts=True)
        most = counts if told["per_group"] is None else np.minimum(counts, told["per_group"])
        k, sign = int(np.sort(most)[::-1][: told["n_groups"]].sum()), False
    at = np.setdiff1d(np.arange(n), closed)
    k = min(len(at) if k is None else k, len(at))
    need(type(k) is int and k >= max(1, len(forced)), f"a component of {k!r} features")
    need(np.isin(forced, at).all(), "forced features are forbidden")
    rule = {"at": at, "forced": np.sort(forced), "k": k, "nonnegative": sign}
    return rule, flips, {**told, "signs": flips if sign else None, "kind": kind}


def broken(told, rule, w):
    """Whether a component breaks its constraint."""
    used = np.flatnonzero(w)
    if np.setdiff1d(used, rule["at"]).size or np.union1d(used, rule["forced"]).size > rule["k"]:
        return True
    if told["kind"] == "Groups":
        _, counts = np.unique(np.asarray(told["labels"])[used], return_counts=True)
        many = told["per_group"] is not None and (counts > told["per_group"]).any()
        return many or len(counts) > told["n_groups"] or (told["nonnegative"] and (w < 0).any())
    if told["kind"] == "Signs":
        return any(w[feature] * given < 0 for feature, given in told["pattern"])
    return rule["nonnegative"] and (w < 0).any()


def covariances(data):
    """The covariance of the data, then its correlation; a symmetric matrix is taken as it is."""
    need(data.ndim == 2 and data.dtype.kind in "fiu", "the data is no table of numbers")
    X = data.astype(float)
    need(np.isfinite(X).all() and X.shape[1] <= 1500, "data with holes, or too many features")
    n = X.shape[1]
    if X.shape == (n, n) and np.abs(X - X.T).max() <= 1e-12 * np.abs(X).max():
        return [(X + X.T) / 2]
    X = X - X.mean(0)
    X -= X.mean(0)
    spread = X.std(0, ddof=1)
    Z = X / np.where(spread > 1e-12 * np.abs(X).max(), spread, 1.0)
    return [X.T @ X / (len(X) - 1), Z.T @ Z / (len(X) - 1)]


def matrix_about(data, about):
    """The covariance a certificate is about."""
    room = 10 * TOLERANCE[about["precision"]]
    for S in covariances(data):
        d, z = np.diag(S), np.cos(np.square(np.arange(1.0, len(S) + 1)))
        same = len(S) == about["n_features"] and abs(d.sum() - about["trace"]) <= room * d.sum()
        same = same and abs(d @ d - about["squares"]) <= room * (d @ d)
        if same and abs(z @ S @ z - about["probe"]) <= room * (d.sum() + abs(about["probe"])):
            return S
    msg = "it was made for another covariance"
    raise RefusedError(msg)


def check_relation(S, W, relation, precision):
    """The components relate as the certificate says."""
    need(relation in ("none", "quasi", "disjoint", "strict", "uncorrelated"), "unknown relation")
    need(relation != "disjoint" or ((W != 0).sum(1) <= 1).all(), "components share features")
    if relation in ("strict", "uncorrelated"):
        G = W.T @ (W if relation == "strict" else S @ W)
        size = np.sqrt(np.maximum(np.diag(G), 1e-300))
        cosines = np.abs(G / np.outer(size, size)) - np.eye(len(G))
        need((cosines <= KEPT_TO[precision]).all(), f"components are not {relation}")


def reached(S, W, quantity, component):
    """What the components have of a quantity."""
    if quantity == "recovered variance":
        left, _ = left_after(S, W[:, :component])
        w = W[:, component]
        variance = w @ left @ w
        enough = variance > 1e-6 * max(np.diag(left).max(), 0)
        return float((left @ w) @ (left @ w) / variance) if enough else 0.0
    if quantity == "sum of variances":
        return float(np.trace(W.T @ S @ W))
    need(quantity == "adjusted variance", f"unknown quantity {quantity!r}")
    total, G = 0.0, W.T @ S @ W
    negligible = 1e-12 * np.diag(G).max()
    for j in range(len(G)):
        total += max(G[j, j], 0.0)
        if G[j, j] > negligible:
            G = G - np.outer(G[:, j], G[j]) / G[j, j]
    return float(total)


def proof_of(stored, i, claim, n, r):
    """The numbers of a claim, each of the right shape."""
    given = {}
    for name in ("features", "pairing", "shift", "factor", "matrix", "prices"):
        given[name] = stored.get(f"proof_{i}_{name}")
    shapes = {"pairing": (n, n), "shift": (n,), "matrix": (n, n), "prices": (r,), "features": (n,)}
    for name, shape in shapes.items():
        need(given[name] is None or given[name].shape == shape, f"{name} has a wrong shape")
    dual = None
    if given["pairing"] is not None:
        dual = {name: given[name] for name in ("features", "pairing", "shift", "factor")}
        need(all(part is not None for part in dual.values()), "the dual is not complete")
        need(dual["factor"].ndim == 2 and len(dual["factor"]) == n, "factor has a wrong shape")
        need(all(dual[p].dtype == float for p in ("pairing", "shift", "factor")), "integer dual")
    need(type(claim["level"]) is float and np.isfinite(claim["level"]), "the level is no number")
    need(claim["theorem"] != "A" or given["prices"] is not None, "theorem A needs prices")
    return {**given, "dual": dual, "theorem": claim["theorem"], "level": claim["level"]}


def verify(path, data):
    """The claims of a joint certificate as sentences, each recomputed; raises ``RefusedError``."""
    with np.load(path, allow_pickle=False) as file:
        stored = {name: file[name] for name in file.files}
    for name, array in stored.items():
        need(array.dtype.kind in "iubU" or array.dtype == float, f"{name} is {array.dtype}")
        need(array.dtype.kind != "f" or np.isfinite(array).all(), f"{name} holds NaN or infinity")
    need("joint_format" in stored and int(stored["joint_format"]) == 1, "no joint certificate")
    stated = plain(json.loads(str(stored["stated"])), stored)
    about, W, relation = stated["about"], stored["loadings"], str(stored["relation"])
    need(about["precision"] in TOLERANCE, "unknown precision")
    n, r = about["n_features"], len(stated["constraints"])
    need(W.shape == (n, r) and W.dtype == float and r > 0, "loadings have a wrong shape")
    need((np.abs(np.linalg.norm(W, axis=0) - 1) <= 1e-9).all(), "loadings without unit norm")
    S = matrix_about(data, about)
    check_relation(S, W, relation, about["precision"])
    read = [rule_of(told, n) for told in stated["constraints"]]
    need(all((flips == read[0][1]).all() for _, flips, _ in read), "signs differ")
    need(
        not any(broken(t, u, w) for (u, _, t), w in zip(read, W.T, strict=True)), "a rule is broken"
    )
    flips = read[0][1]
    S, W = S * np.outer(flips, flips), W * flips[:, None]
    rules = [rule for rule, _, _ in read]
    at = np.unique(np.concatenate([rule["at"] for rule in rules]))
    local = [
        {**u, "at": np.searchsorted(at, u["at"]), "forced": np.searchsorted(at, u["forced"])}
        for u in rules
    ]
    lines, room = [], TOLERANCE[about["precision"]]
    for i, claim in enumerate(json.loads(str(stored["claims"]))):
        value, bound, j = claim["value"], claim["upper_bound"], claim["component"]
        need(type(value) is float and type(bound) is float and bound < np.inf, "no finite claim")
        alone = claim["quantity"] == "recovered variance"
        need(alone == (type(j) is int and 0 <= j < r), "the component is not named")
        size = len(rules[j]["at"]) if alone else len(at)
        proof = proof_of(stored, i, claim, size, r)
        found = reached(S, W, claim["quantity"], j)
        need(abs(found - value) <= room * max(abs(found), abs(value)), f"they reach {found:.12g}")
        if alone:
            limit = recovered(S, W[:, :j], rules[j], proof)
        else:
            limit = together(S[np.ix_(at, at)], local, relation, claim["quantity"], proof)
        need(limit <= bound + room * abs(bound), f"the proof gives {limit:.12g}, not {bound:.12g}")
        who = f"component {j + 1}" if alone else f"{r} components together"
        lines.append(f"proven: {claim['quantity']} of {who} {value:.9g} of at most {bound:.9g}")
    return lines or ["nothing is claimed"]


def check(path, data):
    """Whether a certificate holds, and what to print."""
    try:
        return True, "\n".join(verify(path, data))
    except RefusedError as refusal:
        return False, f"refused: {refusal}"
    except Exception as error:
        return False, f"refused: it cannot be read ({type(error).__name__})"


def read_data(path):
    """The table in a file."""
    if str(path).endswith(".npy"):
        return np.load(path, allow_pickle=False)
    if str(path).endswith(".npz"):
        with np.load(path, allow_pickle=False) as file:
            tables = [file[name] for name in file.files if file[name].ndim == 2]
        need(len(tables) == 1, f"{path} holds {len(tables)} tables, not one")
        return tables[0]
    with Path(path).open(encoding="utf-8") as file:
        first = file.readline().split(",")[0].strip()
    return np.loadtxt(path, delimiter=",", skiprows=int(not first.lstrip("+-")[:1].isdigit()))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python verify_joint_certificate.py CERTIFICATE DATA")
    holds, text = check(sys.argv[1], read_data(sys.argv[2]))
    print(text)
    sys.exit(0 if holds else 1)
