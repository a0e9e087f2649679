"""One matrix behind every kind of covariance the search knows."""

import numpy as np
from scipy import sparse

from loadstone.covariance import (
    DataCovariance,
    DeflatedCovariance,
    ExplicitCovariance,
    LowRankCovariance,
    covariance_of,
    deflate,
)


def data(seed=0, n=14, p=40, dtype=float):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + rng.standard_normal((n, p))
    X += 3 * np.arange(p) / p
    X[np.abs(X) < 0.4] = 0
    return X.astype(dtype)


def kinds(X, tmp_path, weights=None, standardize=True):
    """name -> covariance of the same data."""

    def of(Y, route="data"):
        return covariance_of(Y, route=route, standardize=standardize, sample_weight=weights)[0]

    path = tmp_path / "X.dat"
    mapped = np.memmap(path, dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    found = {
        "C": of(np.ascontiguousarray(X)),
        "F": of(np.asfortranarray(X)),
        "csr": of(sparse.csr_array(X)),
        "csc": of(sparse.csc_array(X)),
        "mapped": of(mapped),
        "gram": of(X, "gram"),
    }
    values, vectors = np.linalg.eigh(matrix_of(found["gram"]))
    rank = min(X.shape)
    found["low rank"] = LowRankCovariance(
        np.ascontiguousarray(vectors[:, -rank:]), values[-rank:], float(X.shape[0])
    )
    return found


def deflated(S, rule="schur"):
    rng = np.random.default_rng(5)
    for _ in range(2):
        w = np.zeros(S.n_features, dtype=S.dtype)
        w[rng.permutation(S.n_features)[:4]] = 0.5
        S = deflate(S, w, rule)
    return S


def matrix_of(S):
    """All entries, by the definition of the kind and not by its own products."""
    if isinstance(S, DeflatedCovariance):
        return matrix_of(S.base) - S.U @ S.C @ S.U.T
    if isinstance(S, ExplicitCovariance):
        return np.asarray(S.matrix, dtype=float)
    if isinstance(S, LowRankCovariance):
        return (S.V * S.eigenvalues) @ S.V.T
    assert isinstance(S, DataCovariance)
    X = S.rows.X
    Z = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(float)
    w = np.ones(len(Z)) if S.weights is None else S.weights
    Z = Z - w @ Z / w.sum()
    C = (Z.T * w) @ Z / (w.sum() - 1)
    if S.moments.scale is None:
        return C
    sd = np.sqrt(C.diagonal())
    return C / np.outer(sd, sd)
