"""Sparse factor models on simulated data with a known truth, and on real data by held-out likelihood.

Run: OPENBLAS_NUM_THREADS=1 python -m benchmarks.factor_models [lines ...] [--seeds 20] [--first 2001]

Without lines all of them are run: ``sections`` (two factors of Guan & Dy, 6.1), ``overlapping``,
``unequal`` (noise per feature, t5), ``noise``, ``simulation1``, ``weak`` (signal over 8, also by
held-out rows), ``inclusion``, ``imputation``, ``speed``, ``many`` (components, of faces) and ``real``.
Real data is looked for in the folder named by LOADSTONE_DATA. ``--results
benchmarks/factor_models.jsonl --tables docs/measured`` makes the tables of the documentation from
what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from benchmarks.exact_inclusion import exact_inclusion
from loadstone import SparseNoisyPCA, SparseProbabilisticPCA
from loadstone.covariance import covariance_of
from loadstone.solvers.factor_model import FactorModel
from loadstone.solvers.factor_models.choice import SampleRows
from loadstone.solvers.factor_models.held_out import held_out_likelihood, row_folds
from loadstone.solvers.factor_models.predictive import predictive_model
from loadstone.solvers.factor_models.rounds import Rounds
from loadstone.solvers.factor_models.samples import samples_of
from loadstone.solvers.factor_models.size_search import Counter, Found
from loadstone.solvers.factor_models.sparse_factors import SparseFactors
from loadstone.solvers.factor_models.starts import joint_start
from loadstone.solvers.l0_noise_search import L0Search

# Designs: samples and the truth of the loadings (n_features, n_components).


def two_factors(seed, n=200, d=10):
    """Section 6.1 of Guan & Dy: standard deviations 100 and 98, noise 1."""
    rng = np.random.default_rng(seed)
    W = np.zeros((d, 2))
    W[:4, 0], W[4:8, 1] = 100.0, 98.0
    return rng.normal(size=(n, 2)) @ W.T + rng.normal(size=(n, d)), W


def overlapping(seed, n=200, d=30, r=5, k=6):
    """Factors on random features with loadings of size 1 to 2."""
    rng = np.random.default_rng(seed)
    W = np.zeros((d, r))
    for j in range(r):
        W[rng.choice(d, k, replace=False), j] = rng.choice([-1, 1], k) * rng.uniform(1, 2, k)
    return rng.normal(size=(n, r)) @ W.T + rng.normal(size=(n, d)), W


def simulation1(seed, n=100, d=10, r=2, signal=1.0, spread=0.0, tails=None, with_scores=False):
    """Simulation 1 of Ulfarsson & Solo, with more features, components, other noise."""
    rng = np.random.default_rng(seed)
    W = np.zeros((d, r))
    for j in range(r):
        W[4 * j : 4 * j + 4, j] = np.sqrt(signal * (200.0 if j % 2 == 0 else 100.0) / 4)
    noise = rng.normal(size=(n, d)) if tails is None else rng.standard_t(tails, size=(n, d))
    if tails is not None:
        noise /= np.sqrt(tails / (tails - 2))
    sd = np.sqrt(10.0) * np.exp(spread * rng.normal(size=d))
    scores = rng.normal(size=(n, r))
    X = scores @ W.T + sd * noise
    return (X, W, scores) if with_scores else (X, W)


def noise_alone(seed, n=200, d=30, spread=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.exp(spread * rng.normal(size=d)), np.zeros((d, 0))


def random_loadings(seed, spread=0.0, *, with_noise=False):
    """Two factors with ten standard normal loadings each at random places."""
    rng = np.random.default_rng(seed)
    W = np.zeros((30, 2))
    for j in range(2):
        W[rng.choice(30, 10, replace=False), j] = rng.normal(size=10)
    sd = np.exp(spread * rng.normal(size=30))
    X = rng.normal(size=(100, 2)) @ W.T + sd * rng.normal(size=(100, 30))
    return (X, W, sd) if with_noise else (X, W)


def exact(loadings, W):
    found = sorted(map(tuple, (loadings != 0).T.astype(int)))
    return found == sorted(map(tuple, (W != 0).T.astype(int)))


#: File that rows of results are appended to.
results = None


def keep(row):
    """A row of results as JSON, one a line."""
    print(json.dumps(row), flush=True)
    if results is not None:
        with Path(results).open("a") as file:
            file.write(json.dumps(row) + "\n")


def is_kept(row):
    """Whether the results hold a row of this line and these seeds, so that a run can be resumed."""
    if results is None or not Path(results).exists():
        return False
    return any(row.items() <= there.items() for there in map(what_was_run, rows_of(results)))


def what_was_run(row):
    """The part of a row that says what was run."""
    return {name: row.get(name) for name in ("line", "standardised", "share", "seeds")}


def count(name, design, seeds):
    """Exact supports and right numbers of components, both models, standardised or not."""
    for standardize in (False, True):
        solvers = {
            "bayes": SparseFactors(),
            "l0": L0Search(noise="free" if standardize else "auto"),
        }
        row = {"line": name, "standardised": standardize, "seeds": [min(seeds), max(seeds)]}
        if is_kept(row):
            continue
        for label, solver in solvers.items():
            missed, size = [], 0
            start = time.process_time()
            for seed in seeds:
                X, W = design(seed)
                model = solver(covariance_of(X, standardize=standardize)[0]).model
                size += model.n_components == W.shape[1]
                if not exact(model.loadings, W):
                    missed.append(seed)
            row[label] = {
                "exact": len(seeds) - len(missed),
                "right_number": int(size),
                "missed": missed,
                "seconds": round((time.process_time() - start) / len(seeds), 2),
            }
        keep(row)


def sections(seeds):
    for n, d in product((50, 200, 400), (10, 100, 500)):
        count(f"6.1, N={n}, d={d}", lambda s, n=n, d=d: two_factors(s, n, d), seeds)


def known_scores(design, seeds):
    """How many data sets tell the truth where the scores are known: a limit of the data.

    With the scores given a loading is a regression coefficient. The truth can be found at all
    where every true one has a larger t-value than every zero; with one threshold for all data
    sets in fewer of them, how many is told of the best threshold.
    """
    limits = []
    for seed in seeds:
        X, W, scores = design(seed)
        X = X - X.mean(axis=0)
        scores = scores - scores.mean(axis=0)
        slopes = np.linalg.lstsq(scores, X, rcond=None)[0]
        noise = np.sqrt(np.mean((X - scores @ slopes) ** 2, axis=0))
        spread = np.sqrt(np.diag(np.linalg.inv(scores.T @ scores)))
        t = np.abs(slopes / (noise * spread[:, None])).T
        limits.append((t[W == 0].max(), t[W != 0].min()))
    low, high = np.array(limits).T
    at_one = [int(((low < cut) & (cut <= high)).sum()) for cut in high]
    return {"separable": int((low < high).sum()), "at_one_threshold": max(at_one)}


def overlapping_lines(seeds):
    count("five overlapping", overlapping, seeds)
    count("three overlapping", lambda s: overlapping(s, r=3), seeds)


def unequal(seeds):
    """Noise deviations, or (one half) noise variances, that are ``exp(N(0, 1))`` of the paper's."""
    for name, spread in {"1": 1.0, "1/2": 0.5}.items():
        count(
            f"heteroscedastic {name}, M=30, T=300",
            lambda s, spread=spread: simulation1(s, 300, 30, spread=spread),
            seeds,
        )
        row = {"line": f"heteroscedastic {name}, scores known", "seeds": [min(seeds), max(seeds)]}
        if not is_kept(row):
            keep({**row, **known_scores(lambda s, a=spread: unequal_scores(s, a), seeds)})
    count("t5, M=30, T=300", lambda s: simulation1(s, 300, 30, tails=5), seeds)


def unequal_scores(seed, spread):
    return simulation1(seed, 300, 30, spread=spread, with_scores=True)


def noise_lines(seeds):
    count("noise, d=30", noise_alone, seeds)
    count("noise, d=100", lambda s: noise_alone(s, d=100), seeds)
    count("noise, d=30, unequal", lambda s: noise_alone(s, spread=0.5), seeds)
    count("noise, d=500, unequal", lambda s: noise_alone(s, d=500, spread=0.5), seeds)


def simulation1_lines(seeds):
    count("simulation 1, T=100, M=10", simulation1, seeds)
    count("simulation 1, T=300, M=16", lambda s: simulation1(s, 300, 16), seeds)
    count("simulation 1, r=5, M=30", lambda s: simulation1(s, 300, 30, r=5), seeds)


def weak(seeds):
    def design(s):
        return simulation1(s, signal=1 / 8)

    count("simulation 1, signal/8", design, seeds)
    row = {"line": "simulation 1, signal/8, by rows", "standardised": False}
    row["seeds"] = [min(seeds), max(seeds)]
    if is_kept(row):
        return
    right, missed = 0, []
    for seed in seeds:
        X, _ = design(seed)
        rows = SampleRows(rows=X, weights=None, holes=None, standardize=False)
        folds = rows.folds(np.random.default_rng(seed))
        best = held_out_likelihood(folds, SparseFactors().growth().models).best
        right += best == 2
        missed += [seed] if best != 2 else []
    keep({**row, "bayes": {"right_number": int(right), "missed": missed}})


def inclusion(seeds):
    for spread in (0.0, 0.5):
        chances, truths, sizes, best = [], [], 0, []
        for seed in seeds:
            X, W, sd = random_loadings(seed, spread, with_noise=True)
            best.append(np.mean((exact_inclusion(X, W, sd) - (W != 0)) ** 2))
            fit = SparseFactors()(covariance_of(X)[0])
            sizes += fit.model.n_components == 2
            matched = np.argmax(np.abs(fit.model.loadings.T @ W), axis=1)
            chances.append(fit.inclusion.ravel())
            truths.append((W[:, matched] != 0).ravel())
        P, truth = np.concatenate(chances), np.concatenate(truths)
        bins = np.minimum((P * 10).astype(int), 9)
        gaps = [
            abs(P[bins == b].mean() - truth[bins == b].mean()) * (bins == b).mean()
            for b in np.unique(bins)
        ]
        kept = P > 0.5
        row = {"line": f"inclusion, noise log-sd {spread}", "seeds": [min(seeds), max(seeds)]}
        found = {
            "brier": float(np.mean((P - truth) ** 2)),
            "brier_exact": float(np.mean(best)),
            "calibration_error": float(sum(gaps)),
            "false": float(1 - truth[kept].mean()),
            "power": float(truth[kept].sum() / truth.sum()),
            "right_number": int(sizes),
        }
        keep({**row, **found})


def speed(_):
    cases = {"200 x 10": two_factors(1)[0], "200 x 500": two_factors(1, d=500)[0]}
    leukemia = real_data("leukemia")
    if leukemia is not None:
        cases["72 x 12582"] = leukemia
    for name, X in cases.items():
        S, _ = covariance_of(X)
        for solver in (SparseFactors(), L0Search()):
            start = time.process_time()
            fit = solver(S, 5 if X.shape[1] > 1000 else None)
            took = time.process_time() - start
            row = {"line": f"speed, {name}", "model": type(solver).__name__}
            keep({**row, "cpu_seconds": took, "components": fit.model.n_components})


# Missing values.


def with_holes(X, share, seed):
    """``X`` with holes; every row and every feature keeps a value."""
    rng = np.random.default_rng(seed)
    holes = rng.random(X.shape) < share
    holes[np.arange(len(X)), rng.integers(X.shape[1], size=len(X))] = False
    holes[rng.integers(len(X), size=X.shape[1]), np.arange(X.shape[1])] = False
    return np.where(holes, np.nan, X), holes


def conditional_means(Y, W, noise):
    """What the true model expects of the holes."""
    C, filled = W @ W.T + np.diag(noise), Y.copy()
    for row in filled:
        gone = np.isnan(row)
        if gone.any():
            seen = ~gone
            row[gone] = C[np.ix_(gone, seen)] @ np.linalg.solve(C[np.ix_(seen, seen)], row[seen])
    return filled


def soft_imputed(Y, n_steps=25, max_iter=300, seed=0):
    """Soft-thresholded singular values; the threshold by a tenth of the values, held out."""
    rng = np.random.default_rng(seed)
    seen = np.isfinite(Y)
    held_out = seen & (rng.random(Y.shape) < 0.1)
    mean = np.nanmean(Y, axis=0)

    def path(known):
        Z = np.where(known, Y - mean, 0.0)
        top = np.linalg.norm(Z, 2)
        filled = Z.copy()
        for level in top * np.geomspace(0.9, 0.005, n_steps):
            for _ in range(max_iter):
                U, s, Vt = np.linalg.svd(np.where(known, Y - mean, filled), full_matrices=False)
                new = (U * np.maximum(s - level, 0.0)) @ Vt
                change = np.linalg.norm(new - filled) / max(np.linalg.norm(filled), 1e-12)
                filled = new
                if change < 1e-4:
                    break
            yield filled + mean

    errors = [np.mean((fit - Y)[held_out] ** 2) for fit in path(seen & ~held_out)]
    best = list(path(seen))[int(np.argmin(errors))]
    return np.where(seen, Y, best)


def imputation(seeds):
    true_models(seeds)
    for name, n_masks in MASKS.items():
        real_imputation(name, range(40001, 40001 + n_masks))


def true_models(seeds):
    """Errors over those of the true model, where there is one."""
    designs = {"6.1": two_factors, "three overlapping": lambda s: overlapping(s, r=3)}
    models = {"bayes": SparseProbabilisticPCA, "l0": SparseNoisyPCA}
    for (name, design), share in product(designs.items(), SHARES[:2]):
        row = {"line": f"imputation, {name}", "share": share, "seeds": [min(seeds), max(seeds)]}
        if is_kept(row):
            continue
        ratios = {label: [] for label in models}
        for seed in seeds:
            X, W = design(seed)
            Y, holes = with_holes(X, share, seed)
            oracle = rmse(conditional_means(Y, W, np.ones(X.shape[1])), X, holes)
            for label, cls in models.items():
                ratios[label].append(rmse(cls().fit(Y).impute(Y), X, holes) / oracle)
        found = {label: {"mean": float(np.mean(r)), "worst": max(r)} for label, r in ratios.items()}
        keep({**row, "over_truth": found})


def rmse(filled, X, holes):
    return float(np.sqrt(np.mean((filled - X)[holes] ** 2)))


#: Shares of values that are taken away.
SHARES = (0.05, 0.2, 0.5)
#: Complete tables of real data, and the number of masks of each: on glass single rows decide.
MASKS = {"glass": 40, "wine": 10, "diabetes": 10}


def iterative(Y):
    return IterativeImputer(max_iter=30, random_state=0).fit_transform(Y)


def of_model(model):
    return lambda Y: model.fit(Y).impute(Y)


IMPUTERS = {
    "bayes": of_model(SparseProbabilisticPCA(standardize=True)),
    "l0": of_model(SparseNoisyPCA(standardize=True)),
    "IterativeImputer": iterative,
    "soft-impute": soft_imputed,
}


def real_imputation(name, seeds):
    """Root mean squared errors in standard deviations of the features, mean over masks."""
    X = real_data(name)
    if X is None:
        return
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for share in SHARES:
        row = {"line": f"imputation, {name}", "share": share, "seeds": [min(seeds), max(seeds)]}
        if is_kept(row):
            continue
        errors = {label: [] for label in IMPUTERS}
        for seed in seeds:
            Y, holes = with_holes(X, share, seed)
            for label, method in IMPUTERS.items():
                errors[label].append(rmse(method(Y), X, holes))
        keep({**row, "rmse": errors, "shape": list(X.shape)})


# Real data.


#: Data that comes with scikit-learn.
PACKAGED = {"wine": load_wine, "diabetes": load_diabetes}


def real_data(name):
    folder = Path(os.environ.get("LOADSTONE_DATA", "../shared/data"))
    if name in PACKAGED:
        return PACKAGED[name]().data
    file = {
        "glass": "glass",
        "control charts": "synthetic_control",
        "faces": "cmu_faces",
        "nci60": "nci60",
        "leukemia": "leukemia_armstrong",
        "pbmc3k": "pbmc3k",
    }[name]
    path = folder / f"{file}.npz"
    if not path.exists():
        print(f"{name}: {path} is not there, left out")
        return None
    stored = np.load(path, allow_pickle=False)
    if name == "pbmc3k":
        return variable_genes(stored)
    X = stored["X"].astype(float)
    if name == "leukemia":
        X = np.log2(np.maximum(X, 20.0))
        X = X[:, np.ptp(X, axis=0) > 0]
    return X


def variable_genes(stored, n_genes=2000):
    parts = (stored["data"], stored["indices"].astype(np.int32), stored["indptr"])
    counts = sparse.csr_matrix(parts, shape=tuple(stored["shape"])).astype(float)
    totals = np.asarray(counts.sum(axis=1)).ravel()
    logs = (sparse.diags(np.median(totals) / totals) @ counts).tocsc().log1p()
    mean = np.asarray(logs.mean(axis=0)).ravel()
    variance = np.asarray(logs.multiply(logs).mean(axis=0)).ravel() - mean**2
    return logs[:, np.argsort(-variance)[:n_genes]].toarray()


def density(model, test):
    squares = np.square(test) @ (1.0 / model.noise)
    return float(model.log_density(squares, test @ model.scores_matrix()).mean())


def principal_components(train, q):
    fit = PCA(q, random_state=0).fit(train)
    noise = max(fit.noise_variance_, 1e-9)
    strength = np.sqrt(np.maximum(fit.explained_variance_ - noise, 0))
    return FactorModel(fit.components_.T * strength, noise)


def factor_analysis(train, q):
    fit = FactorAnalysis(q, max_iter=300, random_state=0).fit(train)
    return FactorModel(fit.components_.T, fit.noise_variance_)


#: Most components of our models: few where there are few rows, or where a fit is dear.
MOST, MOST_FEW_ROWS, MOST_MANY_VALUES = 20, 8, 16
FEW_ROWS, MANY_VALUES = 100, 1e6
#: Numbers of components of the rivals, as far as the data goes.
SIZES = (*range(1, 9), 10, 12, 15, 20, 30, 40, 60, 80, 120)
#: Values from which on data is split that often into halves; each half is fitted, and the other
#: one predicted.
SPLITS = {0: 5, 10_000: 2, 100_000: 1}
#: Whether rows are also held out within a half, which takes six times as long.
hold_rows_out = False
NAMES = ("glass", "wine", "control charts", "faces", "nci60", "leukemia", "pbmc3k")


def scaled_halves(X, part):
    """The halves of a split, features that vary in the first, scaled by it."""
    train, test = X[part], X[~part]
    varies = np.ptp(train, axis=0) > 0
    mean, sd = train[:, varies].mean(axis=0), train[:, varies].std(axis=0, ddof=1)
    return (train[:, varies] - mean) / sd, (test[:, varies] - mean) / sd, varies


def most_components(X):
    most = MOST_FEW_ROWS if len(X) < FEW_ROWS else MOST
    return min(most if X.size < MANY_VALUES else MOST_MANY_VALUES, X.shape[1] - 2)


def n_splits(X):
    return SPLITS[max(level for level in SPLITS if X.size >= level)]


def bayes_walk(S, test, most):
    """Held-out densities of 1, 2, ... components, and the fit that the bound chooses."""
    samples, solver = samples_of(S), SparseFactors()
    growth, densities, best = solver.growth(), [], None
    for state in growth.sequence(samples):
        clean = growth.cleaned(samples, state)
        fit = solver.finished(samples, Found(clean, {clean.n_components: clean}), Counter())
        densities.append(density(fit.predictive, test))
        if best is None or fit.lower_bound > best.lower_bound:
            best = fit
        null = state.n_components > 1 and clean.n_components < state.n_components - 1
        if state.n_components == most or null:
            break
    return densities[1:], best.predictive, best.model


def l0_walk(S, test, most):
    solver = L0Search(noise="free")
    fit = solver(S, range(most + 1))
    return [density(fit.model, test)], fit.model, fit.model


WALKS = {"bayes": bayes_walk, "l0": l0_walk}


def by_rows(label, train, densities, most):
    """Held-out density at the number of components that rows of ``train`` choose by themselves."""
    if label != "bayes" or not hold_rows_out:
        return None
    folds = row_folds(train, 5, np.random.default_rng(5), standardize=True)
    found = held_out_likelihood(folds, SparseFactors().growth().models, most)
    return densities[min(found.best, len(densities)) - 1]


def agreement(one, two):
    """Mean largest cosine of the components of one half with those of the other."""
    if not one.shape[1] or not two.shape[1]:
        return float("nan")
    units = [W / np.linalg.norm(W, axis=0) for W in (one, two)]
    cosines = np.abs(units[0].T @ units[1])
    return float((cosines.max(axis=0).mean() + cosines.max(axis=1).mean()) / 2)


def up_to(most, densities):
    """A curve of ``most`` sizes: where a walk ended, it stays."""
    return np.pad(densities, (0, most - len(densities)), mode="edge")


def real_row(name, label):
    """One model on one data set: components, sizes, held-out densities, stability."""
    X = real_data(name)
    if X is None:
        return None
    walk, most, rng = WALKS[label], most_components(X), np.random.default_rng(11)
    whole = covariance_of(X, standardize=True)[0]
    start = time.process_time()
    model = walk(whole, np.zeros((2, X.shape[1])), most)[-1]
    seconds = time.process_time() - start
    chosen, zeros, rows, best, cosines = [], [], [], [], []
    for _ in range(n_splits(X)):
        part = rng.permutation(len(X)) % 2 == 0
        found = []
        for half in (part, ~part):
            train, test, varies = scaled_halves(X, half)
            densities, predictive, fit = walk(covariance_of(train)[0], test, most)
            chosen.append(density(predictive, test))
            zeros.append(density(fit, test))
            rows.append(by_rows(label, train, densities, most))
            best.append(up_to(most, densities))
            W = np.zeros((X.shape[1], fit.n_components))
            W[varies] = fit.loadings
            found.append(W)
        cosines.append(agreement(*found))
    sizes = np.sort(np.count_nonzero(model.loadings, axis=0))[::-1]
    curve = np.mean(best, axis=0)
    return {
        "data": name,
        "shape": list(X.shape),
        "model": label,
        "components": model.n_components,
        "sizes": [int(k) for k in sizes],
        "held_out": float(np.mean(chosen)),
        "by_rows": None if None in rows else float(np.mean(rows)),
        "best": float(curve.max()),
        "best_size": int(np.argmax(curve)) + 1,
        "zeros_set": float(np.mean(zeros)),
        "stability": float(np.mean(cosines)),
        "seconds": seconds,
    }


def rival_row(name, label, fit):
    X = real_data(name)
    if X is None:
        return None
    sizes = [q for q in SIZES if q < min(X.shape[1], len(X) // 2 - 1)]
    rng, rows = np.random.default_rng(11), []
    start = time.process_time()
    for _ in range(n_splits(X)):
        part = rng.permutation(len(X)) % 2 == 0
        for half in (part, ~part):
            train, test, _ = scaled_halves(X, half)
            rows.append([density(fit(train, q), test) for q in sizes])
    curve = np.mean(rows, axis=0)
    return {
        "data": name,
        "shape": list(X.shape),
        "model": label,
        "best": float(curve.max()),
        "best_size": sizes[int(np.argmax(curve))],
        "seconds": time.process_time() - start,
    }


def real(_, only=None, models=None):
    rivals = {"FactorAnalysis": factor_analysis, "PCA": principal_components}
    for name in only or NAMES:
        for label in models or (*WALKS, *rivals):
            row = real_row(name, label) if label in WALKS else rival_row(name, label, rivals[label])
            if row is not None:
                keep(row)


def inclusion_table(rows):
    """Markdown of how good inclusion probabilities are."""
    kept = [row for row in rows if row.get("line", "").startswith("inclusion")]
    names = ("noise", "data sets", "Brier", "Brier of exact inference", "calibration error")
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for row in kept:
        noise = "unequal" if row["line"].endswith("0.5") else "equal"
        exact_brier = f"{row['brier_exact']:.3f}" if "brier_exact" in row else ""
        n = row["seeds"][1] - row["seeds"][0] + 1
        parts = (noise, str(n), f"{row['brier']:.3f}", exact_brier)
        lines.append(f"| {' | '.join(parts)} | {row['calibration_error']:.3f} |")
    return "\n".join(lines) + "\n"


#: Components of which faces are described, and the split into halves.
MANY, MANY_SPLIT = (20, 60, 120), 77


def joint_fit(train, q, noise):
    """All components at once from the principal axes, as far as fifty rounds go."""
    samples = samples_of(covariance_of(train)[0])
    growth = SparseFactors(noise=noise).growth()
    W, variance = joint_start(samples, q)
    state = Rounds(50)(samples, growth.started(samples, W[None], variance[None]))[0]
    return predictive_model(samples, state)


def many_components(_):
    """Held-out densities of faces with many components: noise of each pixel against one for all."""
    X = real_data("faces")
    if X is None:
        return
    part = np.random.default_rng(MANY_SPLIT).permutation(len(X)) % 2 == 0
    train, test, _ = scaled_halves(X, part)
    fits = {
        "bayes": lambda q: joint_fit(train, q, "pooled"),
        "bayes, shared noise": lambda q: joint_fit(train, q, "shared"),
        "FactorAnalysis": lambda q: factor_analysis(train, q),
        "PCA": lambda q: principal_components(train, q),
    }
    for label, fit in fits.items():
        found = [density(fit(q), test) for q in MANY]
        keep({"line": "faces, many components", "model": label, "sizes": MANY, "held_out": found})


def many_table(rows):
    """Markdown of held-out densities by number of components."""
    kept = [row for row in rows if row.get("line") == "faces, many components"]
    lines = [f"| model | {' | '.join(map(str, MANY))} |", "|---" * (1 + len(MANY)) + "|"]
    lines += [
        f"| {row['model']} | {' | '.join(f'{v:.0f}' for v in row['held_out'])} |" for row in kept
    ]
    return "\n".join(lines) + "\n"


def rows_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def real_table(rows):
    """Markdown of the rows of real data."""
    found = {(row["data"], row["model"]): row for row in rows if "data" in row}
    names = ("data", "model", "components", "features of each", "by bound", "by rows")
    head = f"| {' | '.join(names)} | at best size | zeros set | stability |"
    lines = [head, "|---" * 9 + "|"]
    labels = (*WALKS, "FactorAnalysis", "PCA")
    kept = [found.get((name, label)) for name in NAMES for label in labels]
    lines += [f"| {' | '.join(cells(row))} |" for row in kept if row is not None]
    return "\n".join(lines) + "\n"


def known_truth_table(rows):
    """Markdown of exact supports where the truth is known, over all blocks of seeds."""
    found = [row for row in rows if "standardised" in row]
    head = "| data | bayes | bayes, standardised | l0 | l0, standardised |"
    lines = [head, "|---" * 5 + "|"]
    for line in dict.fromkeys(row["line"] for row in found):
        parts = [
            share_found(
                [r for r in found if (r["line"], r["standardised"]) == (line, scaled)], label
            )
            for label in WALKS
            for scaled in (False, True)
        ]
        lines.append(f"| {line} | {' | '.join(parts)} |")
    return "\n".join(lines) + "\n"


def share_found(rows, label):
    """Data sets in which a model found the truth, of how many; nothing where it was not run."""
    kept = [row for row in rows if label in row]
    total = sum(row["seeds"][1] - row["seeds"][0] + 1 for row in kept)
    right = sum(row[label].get("exact", row[label]["right_number"]) for row in kept)
    return f"{right} of {total}" if kept else ""


def imputation_table(rows):
    """Markdown of errors of imputed values of real data, the smallest of each line in bold."""
    kept = [row for row in rows if "rmse" in row]
    names = ("data", "missing", "masks", *IMPUTERS, "bayes less IterativeImputer")
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for row in sorted(kept, key=lambda row: list(MASKS).index(data_of(row))):
        n, d = row["shape"]
        errors = [f"{np.mean(row['rmse'][label]):.3f}" for label in IMPUTERS]
        marked = [f"**{one}**" if one == min(errors) else one for one in errors]
        gain = np.subtract(row["rmse"]["bayes"], row["rmse"]["IterativeImputer"])
        doubt = gain.std(ddof=1) / np.sqrt(gain.size)
        parts = (f"{data_of(row)} {n} x {d}", f"{row['share']:.0%}", str(gain.size), *marked)
        lines.append(f"| {' | '.join(parts)} | {gain.mean():.3f} ± {doubt:.3f} |")
    return "\n".join(lines) + "\n"


def over_truth_table(rows):
    """Markdown of errors of imputed values over those of the true model."""
    lines = ["| data | missing | bayes: mean, worst | l0: mean, worst |", "|---" * 4 + "|"]
    for row in rows:
        if "over_truth" in row:
            parts = [f"{one['mean']:.3f}, {one['worst']:.3f}" for one in row["over_truth"].values()]
            lines.append(f"| {data_of(row)} | {row['share']:.0%} | {' | '.join(parts)} |")
    return "\n".join(lines) + "\n"


def data_of(row):
    return row["line"].removeprefix("imputation, ")


TABLES = {
    "real_data.md": real_table,
    "known_truth.md": known_truth_table,
    "imputation.md": imputation_table,
    "imputation_over_truth.md": over_truth_table,
    "many_components.md": many_table,
    "inclusion.md": inclusion_table,
}


def cells(row):
    n, d = row["shape"]
    own = [""] * 4
    if row["model"] in WALKS:
        own = [
            str(row["components"]),
            ", ".join(map(str, row["sizes"])),
            f"{row['held_out']:.2f}",
            "" if row["by_rows"] is None else f"{row['by_rows']:.2f}",
        ]
    best = f"{row['best']:.2f} ({row['best_size']})" if row["model"] != "l0" else ""
    stability = f"{row['stability']:.2f}" if row["model"] in WALKS else ""
    # What an earlier model gave is marked.
    model = row["model"] + ("*" if row.get("former") else "")
    zeros = f"{row['zeros_set']:.2f}" if "zeros_set" in row else ""
    return [f"{row['data']} {n} x {d}", model, *own, best, zeros, stability]


LINES = {
    "sections": sections,
    "overlapping": overlapping_lines,
    "unequal": unequal,
    "noise": noise_lines,
    "simulation1": simulation1_lines,
    "weak": weak,
    "inclusion": inclusion,
    "imputation": imputation,
    "speed": speed,
    "many": many_components,
    "real": real,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", nargs="*", help="which lines to run")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=2001)
    parser.add_argument("--data", nargs="*", help="real data to run, all by default")
    parser.add_argument("--models", nargs="*", help="models to run on real data")
    parser.add_argument("--by-rows", action="store_true", help="also let held-out rows choose")
    parser.add_argument("--results", help="file to append rows to")
    parser.add_argument("--tables", help="write the tables of the results here, run nothing")
    options = parser.parse_args()
    results, hold_rows_out = options.results, options.by_rows
    if options.tables:
        for file, made in TABLES.items():
            (Path(options.tables) / file).write_text(made(rows_of(results)))
        raise SystemExit
    warnings.simplefilter("ignore", ConvergenceWarning)
    for line in options.lines or LINES:
        if line == "real":
            real(None, options.data, options.models)
        else:
            LINES[line](range(options.first, options.first + options.seeds))
