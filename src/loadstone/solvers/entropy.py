"""Ranking of features by the entropy of the singular values.

Notation: ``v_j`` is the share of the j-th squared singular value, ``E = -sum v_j log v_j /
log r`` with r of them; a feature contributes ``CE_i = E(all) - E(all but i)``.

References
----------
Varshavsky, R., Gottlieb, A., Linial, M., & Horn, D. (2006). Novel unsupervised feature
filtering of biological data. Bioinformatics, 22(14), e507-e513.
"""

from __future__ import annotations

import numpy as np

from loadstone.covariance import Array

#: Bytes of a stack of matrices whose eigenvalues are found together.
STACK_BYTES = 16 << 20


def svd_entropy(squared_singular_values: Array) -> Array:
    """Normalised entropy along the last axis: 0 for rank one, 1 for equal values."""
    values = np.maximum(squared_singular_values, 0)
    total = values.sum(axis=-1, keepdims=True)
    share = np.divide(values, total, out=np.zeros_like(values), where=total > 0)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    result: Array = -(share * logs).sum(axis=-1) / np.log(max(2, values.shape[-1]))
    return result


def entropy_contributions(X: Array, already: Array | None = None) -> Array:
    """What each feature adds to the entropy.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Dense data.
    already : ndarray of bool, optional
        A selection to which features are added; by default each feature is taken out of
        the whole.

    Returns
    -------
    ndarray of shape (n_features,)
        Higher is better; ``-inf`` for features that are selected already.
    """
    if already is None:
        base, sign = X @ X.T, -1.0
    else:
        base, sign = X[:, already] @ X[:, already].T, 1.0
    if already is None and X.shape[1] <= X.shape[0]:
        return _by_deletion(X)
    changed = np.empty(X.shape[1])
    step = max(1, STACK_BYTES // (8 * base.size))
    for start in range(0, X.shape[1], step):
        columns = X[:, start : start + step].T
        stack = base + sign * columns[:, :, None] * columns[:, None, :]
        changed[start : start + step] = svd_entropy(np.linalg.eigvalsh(stack))
    entropy = float(svd_entropy(np.linalg.eigvalsh(base)))
    if already is None:
        return entropy - changed
    return np.where(already, -np.inf, changed - entropy)


def _by_deletion(X: Array) -> Array:
    """The same on the matrix of features, where there are fewer of them than samples."""
    gram = X.T @ X
    entropy = svd_entropy(np.linalg.eigvalsh(gram))
    without = np.empty(gram.shape[0])
    for i in range(gram.shape[0]):
        # A feature set to zero keeps the number of singular values, as in the other form.
        reduced = gram.copy()
        reduced[i] = reduced[:, i] = 0
        without[i] = svd_entropy(np.linalg.eigvalsh(reduced))
    return entropy - without


def entropy_ranking(X: Array, n: int, search: str) -> tuple[Array, Array]:
    """Features in order of choice, and the contribution of each feature of the data.

    ``search="ranking"`` takes the ``n`` largest contributions; ``"forward"`` adds, one at a
    time, the feature that leaves the selection with the highest entropy.
    """
    contributions = entropy_contributions(X)
    order = np.argsort(-contributions, kind="stable")
    if search == "ranking":
        return order[:n], contributions
    chosen = np.zeros(X.shape[1], dtype=bool)
    taken = [int(order[0])]
    chosen[taken[0]] = True
    while len(taken) < n:
        taken.append(int(np.argmax(entropy_contributions(X, chosen))))
        chosen[taken[-1]] = True
    return np.array(taken), contributions
