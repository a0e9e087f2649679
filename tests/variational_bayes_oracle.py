"""Dense, literal version of the variational updates: explicit samples, explicit covariances.

Follows the formulas one by one, with no packing, no blocks and no shared algebra, so that an
error in the fast version cannot hide in this one.
"""

import numpy as np
from scipy.special import digamma, gammaln


class DenseModel:
    """Updates on explicit rows ``T`` (NaN where missing), in the units they come in."""

    def __init__(self, T, W, noise_variance, prior, a0=1e-3, b0=1e-3, beta=1e-3):
        self.T = T
        self.observed = np.isfinite(T)
        self.n, self.d = T.shape
        self.q = W.shape[1]
        self.mu = W.copy()
        self.Sigma = np.zeros((self.d, self.q, self.q))
        self.tau = 1.0 / noise_variance
        self.prior = prior
        self.D = 1.0 / prior.expectations(W**2)[1]
        self.m = np.zeros(self.d)
        self.s2 = np.zeros(self.d)
        self.a0, self.b0, self.beta = a0, b0, beta

    def second(self):
        return self.mu**2 + np.einsum("ijj->ij", self.Sigma)

    def round(self, fixed=frozenset()):
        """Scores, mean, loadings, noise, bound, prior: the order of the solver."""
        self.update_scores()
        self.update_mean()
        self.update_loadings()
        self.update_noise()
        bound = self.bound()
        variance, precision = self.prior.expectations(self.second())
        self.D = 1.0 / precision
        self.prior = self.prior.update_hyperparameters(variance, precision, fixed)
        return bound

    def update_scores(self):
        self.X = np.zeros((self.n, self.q))
        self.Sx = np.zeros((self.n, self.q, self.q))
        for n in range(self.n):
            precision = np.eye(self.q)
            right = np.zeros(self.q)
            for i in np.flatnonzero(self.observed[n]):
                precision += self.tau * (self.Sigma[i] + np.outer(self.mu[i], self.mu[i]))
                right += self.tau * (self.T[n, i] - self.m[i]) * self.mu[i]
            self.Sx[n] = np.linalg.inv(precision)
            self.X[n] = self.Sx[n] @ right

    def update_mean(self):
        for i in range(self.d):
            seen = self.observed[:, i]
            self.s2[i] = 1.0 / (self.beta + seen.sum() * self.tau)
            left = self.T[seen, i] - self.X[seen] @ self.mu[i]
            self.m[i] = self.tau * self.s2[i] * left.sum()

    def update_loadings(self):
        for i in range(self.d):
            seen = self.observed[:, i]
            S = self.Sx[seen].sum(axis=0) + self.X[seen].T @ self.X[seen]
            root = np.diag(np.sqrt(self.D[i]))
            self.Sigma[i] = root @ np.linalg.inv(np.eye(self.q) + self.tau * root @ S @ root) @ root
            right = self.X[seen].T @ (self.T[seen, i] - self.m[i])
            self.mu[i] = self.tau * self.Sigma[i] @ right

    def error(self):
        total = 0.0
        for n in range(self.n):
            xx = self.Sx[n] + np.outer(self.X[n], self.X[n])
            for i in np.flatnonzero(self.observed[n]):
                ww = self.Sigma[i] + np.outer(self.mu[i], self.mu[i])
                t = self.T[n, i] - self.m[i]
                total += t**2 - 2 * t * self.mu[i] @ self.X[n] + np.trace(ww @ xx) + self.s2[i]
        return 0.5 * total

    def update_noise(self):
        self.c = self.a0 + 0.5 * self.observed.sum()
        self.e = self.b0 + self.error()
        self.tau = self.c / self.e

    def bound(self):
        """Sum of expected log densities and entropies, one distribution after the other."""
        log_tau = digamma(self.c) - np.log(self.e)
        count = self.observed.sum()
        value = 0.5 * count * (log_tau - np.log(2 * np.pi)) - self.tau * self.error()
        for n in range(self.n):
            xx = self.Sx[n] + np.outer(self.X[n], self.X[n])
            value += -0.5 * np.trace(xx) + 0.5 * np.linalg.slogdet(self.Sx[n])[1] + 0.5 * self.q
        for i in range(self.d):
            value += 0.5 * np.log(self.beta) - 0.5 * self.beta * (self.m[i] ** 2 + self.s2[i])
            value += 0.5 * np.log(self.s2[i]) + 0.5
            value += 0.5 * np.linalg.slogdet(self.Sigma[i])[1]
            value += 0.5 * self.q * (np.log(2 * np.pi) + 1)
        value += self.a0 * np.log(self.b0) - gammaln(self.a0) + (self.a0 - 1) * log_tau
        value -= self.b0 * self.tau
        value += self.c - np.log(self.e) + gammaln(self.c) + (1 - self.c) * digamma(self.c)
        return value + self.prior.bound_term(self.second()).sum()
