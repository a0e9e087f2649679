"""Section 6.1 of Guan & Dy: two factors among ten features, from nine components."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from experiments.claim import (
    Judgement,
    Measured,
    Table,
    Verdict,
    at_least,
    at_most,
    claim,
    near,
)
from experiments.figures import curve, finish, panels
from experiments.guan_dy_2009.measures import AS_RUN, PRIORS
from experiments.quietly import fitted
from experiments.run import Run
from loadstone import ElasticNetPCA, SparseProbabilisticPCA
from loadstone.covariance import covariance_of
from loadstone.datasets import make_sparse_factors
from loadstone.metrics import adjusted_variance

Array = NDArray[np.float64]
TRUE = np.repeat(np.eye(2, dtype=bool), [4, 4], axis=1)
TRUE = np.hstack([TRUE, np.zeros((2, 2), dtype=bool)])


def conditioned_draw(seed: int, share: float = 0.5972, correlation: float = 0.0087) -> Array:
    """A draw in which PC1 has the printed share and factors the correlation behind .011."""
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((200, 2))
    V -= V.mean(axis=0)
    V = V @ np.linalg.inv(np.linalg.cholesky(np.cov(V.T))).T
    total = 100.0**2 + 98.0**2

    def covariance(first: float) -> Array:
        cross = correlation * np.sqrt(first * (total - first))
        return np.array([[first, cross], [cross, total - first]])

    def excess(first: float) -> float:
        return float(4 * np.linalg.eigvalsh(covariance(first))[-1] / (4 * total + 10) - share)

    root = np.linalg.cholesky(covariance(float(brentq(excess, 0.5 * total, 0.9 * total))))
    factors = V @ root.T
    X = rng.standard_normal((200, 10))
    X[:, :4] += factors[:, :1]
    X[:, 4:8] += factors[:, 1:]
    return X


def exact(model: Any) -> bool:
    """Whether both supports are the true ones."""
    if model.n_components_ != 2:
        return False
    found = {tuple(row) for row in model.support_}
    return found == {tuple(row) for row in TRUE}


def published(prior: str, **options: Any) -> Any:
    """The paper's model from nine components."""
    return SparseProbabilisticPCA.as_published(9, prior, **options)


@claim(
    "gd.tab2",
    printed="Loadings .5 on t1-4 and -.5 on t5-8, the rest zero; AV .5971/.4028, CV .9999; SPCA the "
    "same; PCA mixes the factors by .011.",
    data="8 draws of the Section 6.1 data (standard deviations 100 and 98, N = 200) with the printed "
    "PCA share .5972 and a correlation of the factors of .0087; 100 free draws for their odds",
    how="as_published(9, prior) with rotation steps; the published run (PCA start, no rotation) with "
    "tolerance 1e-3 and with 500 rounds; ElasticNetPCA with sizes 4, 4",
    judged=(
        Judgement(
            expected=Verdict.IN_KIND,
            of="with our rotation steps",
            as_printed=(at_least("free draws with PC1 share of .597 or more", 20),),
            in_kind=(
                at_least("draws with two components, worst prior", 8),
                at_least("draws with exact supports, worst prior", 7),
                near("largest |loading| - .5", 0.0, 0.001),
            ),
        ),
        Judgement(
            expected=Verdict.NOT,
            of="with the printed stopping rule",
            as_printed=(at_least("published run, tolerance 1e-3: exact supports", 8),),
        ),
    ),
    reference=(
        near("AV of component 1", 0.5973, 0.0005),
        near("AV of component 2", 0.4025, 0.0005),
        near("PCA: mixing", 0.011, 0.002),
        at_most("free draws with PC1 share of .597 or more", 5),
    ),
    shares="synthetic",
)
def table_2(run: Run) -> Measured:
    """Three priors, SPCA and PCA on conditioned draws."""
    draws = [conditioned_draw(seed) for seed in range(8)]
    X = draws[0]
    by_prior = {prior: _by_prior(prior, draws) for prior in PRIORS}
    S, _ = covariance_of(X)
    W = fitted(published("inverse_gaussian"), X).components_.T
    shares = adjusted_variance(S, W) / S.diagonal().sum()
    spca = fitted(ElasticNetPCA(2, n_nonzero=4), X)
    vectors = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2]
    free = [make_sparse_factors(random_state=seed)[0] for seed in range(100)]
    typical = np.array([_first_share(drawn) for drawn in free])
    head: tuple[str, ...] = ("prior", "two components, of 8", "4 + 4 exact, of 8")
    head += ("published run, tol 1e-3: exact, of 8", "published run, 500 rounds: exact, of 2")
    loadings = tuple(
        (f"t{i + 1}", *(f"{v:.4f}" for v in (*W[i], *spca.components_.T[i], *vectors[:2].T[i])))
        for i in range(10)
    )
    names = ("", "SPPCA PC1", "PC2", "SPCA PC1", "PC2", "PCA PC1", "PC2")
    counts = np.array(list(by_prior.values()))
    return Measured(
        numbers={
            "draws with two components, worst prior": int(counts[:, 0].min()),
            "draws with exact supports, worst prior": int(counts[:, 1].min()),
            "largest |loading| - .5": float(np.abs(np.abs(W[W != 0]) - 0.5).max()),
            "AV of component 1": float(shares[0]),
            "AV of component 2": float(shares[1]),
            "CV": float(shares.sum()),
            "SPCA: CV": float(spca.explained_variance_ratio_.sum()),
            "PCA: mixing": float(np.abs(vectors[0, 4:8]).mean()),
            "published run, tolerance 1e-3: exact supports": int(counts[:, 2].sum()),
            "free draws with PC1 share of .597 or more": int((typical >= 0.597).sum()),
        },
        tables=(
            Table(head=head, rows=tuple((prior, *row) for prior, row in by_prior.items())),
            Table(head=names, rows=loadings, caption="Loadings of the first draw."),
        ),
        remarks=(
            "The printed variances hold here by construction. Among free draws such a share of the "
            "first component is rare, so that the digits are one draw of many.",
        ),
    )


def _by_prior(prior: str, draws: list[Array]) -> tuple[int, int, int, int]:
    """Draws with two components, with exact supports, and the same of published runs."""
    models = [fitted(published(prior), X) for X in draws]
    stopped = [fitted(published(prior, tol=1e-3, **AS_RUN), X) for X in draws]
    longer = [fitted(published(prior, tol=0.0, **AS_RUN), X) for X in draws[:2]]
    return (
        sum(m.n_components_ == 2 for m in models),
        *(sum(map(exact, runs)) for runs in (models, stopped, longer)),
    )


def _first_share(X: Array) -> float:
    values = np.linalg.eigvalsh(np.cov(X.T))
    return float(values[-1] / values.sum())


@claim(
    "gd.claim.9to2",
    printed="Nine components shrink to the two that are there, with all three priors alike.",
    data="100 free draws of the Section 6.1 data",
    how="as_published(9, prior); the published run (PCA start, no rotation, tolerance 1e-3) on 40",
    judged=Judgement(
        expected=Verdict.REPRODUCED,
        as_printed=tuple(at_least(f"{p}: two components, %", 99) for p in PRIORS),
    ),
    reference=(
        near("inverse_gaussian: exact supports, %", 99, 3),
        near("jeffreys: exact supports, %", 96, 4),
        near("laplace: exact supports, %", 85, 6),
        at_most("published run: exact", 0),
    ),
    shares="synthetic",
)
def nine_to_two(run: Run) -> Measured:
    """Counts over free draws."""
    n = 12 if run.quick else 100
    draws = [make_sparse_factors(random_state=seed)[0] for seed in range(n)]
    numbers: dict[str, Any] = {}
    rows = []
    as_run = 0
    for prior in PRIORS:
        models = [fitted(published(prior), X) for X in draws]
        two = 100 * np.mean([m.n_components_ == 2 for m in models])
        right = 100 * np.mean([exact(m) for m in models])
        numbers[f"{prior}: two components, %"] = float(two)
        numbers[f"{prior}: exact supports, %"] = float(right)
        stopped = [fitted(published(prior, tol=1e-3, **AS_RUN), X) for X in draws[:40]]
        hits = sum(exact(m) for m in stopped)
        as_run += hits
        rows.append((prior, two, right, f"{hits} of {len(stopped)}"))
    numbers["published run: exact"] = as_run
    head: tuple[str, ...] = (
        "prior",
        "two components, %",
        "both supports exact, %",
        "published run: exact",
    )
    return Measured(
        numbers=numbers,
        tables=(Table(head=head, rows=tuple(rows), caption=f"{n} draws."),),
    )


@claim(
    "gd.claim.ext",
    printed="A probabilistic model extends to missing data and to mixtures.",
    data="draws of the Section 6.1 data, factors of standard deviation 10 and 9.8; 5 to 50 % missing",
    how="as_published(4) on incomplete data; imputation error beside that of the true loadings and "
    "noise, with the mean as it was estimated (oracle) and as it is (true model)",
    judged=(
        Judgement(
            expected=Verdict.REPRODUCED,
            of="for missing data",
            as_printed=(at_most("largest mean excess over the true model", 0.02),),
        ),
        Judgement(expected=Verdict.OPEN, of="for mixtures"),
    ),
    reference=(near("seeds within .01 of the oracle over all shares, %", 90, 10),),
)
def missing_data(run: Run) -> Measured:
    """Root mean square error of imputed values."""
    shares = (0.05, 0.2, 0.5) if run.quick else (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    seeds = range(3 if run.quick else 10)
    names = ("model", "oracle", "true model", "column mean")
    found = np.array([[_imputation_errors(seed, share) for seed in seeds] for share in shares])
    means = found.mean(axis=1)
    excess = found[..., :1] - found[..., 1:3]
    rows = [
        (f"{100 * share:.0f} %", *mean, f"{int((apart[:, 0] <= 0.01).sum())} of {len(seeds)}")
        for share, mean, apart in zip(shares, means, excess, strict=True)
    ]
    figure, axes = panels()
    for place, name in enumerate(names):
        curve(axes[0][0], 100 * np.array(shares), means[:, place], place, name)
    y = "root mean square error / noise"
    finish(axes[0][0], title="imputed values", x="% missing", y=y, ylim=(0, None))
    head = ("missing", *names, "within .01 of the oracle")
    caption = "Error in units of the noise, mean over seeds."
    within = excess[..., 0].mean(axis=0) <= 0.01
    return Measured(
        numbers={
            "largest mean excess over the oracle": float(excess[..., 0].mean(axis=1).max()),
            "largest mean excess over the true model": float(excess[..., 1].mean(axis=1).max()),
            "seeds within .01 of the oracle over all shares, %": 100 * float(within.mean()),
        },
        tables=(Table(head=head, rows=tuple(rows), caption=caption),),
        figures={"": figure},
        remarks=(
            "Neither the paper nor this package has a mixture of such models.",
            "Nobody knows the mean of data with holes. Estimated from 200 samples it is off by its standard "
            "error, which the oracle shares and the true model does not.",
        ),
    )


def _imputation_errors(seed: int, share: float) -> tuple[float, ...]:
    """Errors on what is missing: of the model, the oracle, the true model and column means."""
    X, _ = make_sparse_factors(factor_std=(10.0, 9.8), random_state=seed)
    holes = np.random.default_rng(seed).random(X.shape) < share
    # A row without any value says nothing, and no model takes it.
    holes[holes.all(axis=1), 0] = False
    Y = np.where(holes, np.nan, X)
    model = fitted(SparseProbabilisticPCA.as_published(4), Y)
    G = np.zeros((10, 2))
    G[:4, 0], G[4:8, 1] = 10.0, 9.8
    C = G @ G.T + np.eye(10)
    guesses = (
        model.impute(Y),
        model.mean_ + _conditional_means(Y - model.mean_, C),
        _conditional_means(Y, C),
        np.where(holes, np.nanmean(Y, axis=0), Y),
    )
    return tuple(float(np.sqrt(np.mean((Z - X)[holes] ** 2))) for Z in guesses)


def _conditional_means(Y: Array, C: Array) -> Array:
    """Expected values given what is there, under N(0, C)."""
    filled = Y.copy()
    for row in filled:
        seen = np.isfinite(row)
        if seen.any() and not seen.all():
            weights = np.linalg.solve(C[np.ix_(seen, seen)], row[seen])
            row[~seen] = C[np.ix_(~seen, seen)] @ weights
        elif not seen.any():
            row[:] = 0.0
    return filled
