"""Dense, literal version of the point-normal factor model: explicit samples, loops over entries.

Follows the formulas one by one and shares no algebra with the solver.
"""

import numpy as np
from scipy.special import digamma, entr, expit, gammaln

ETA = 1e-6


class Law:
    """``Gamma(c, e)``: precisions after the data, where they come from ``Gamma(a0, b0)``."""

    def __init__(self, a0, b0, n, E):
        c, e = a0 + n, b0 + E
        self.tau, self.log_tau = c / e, digamma(c) - np.log(e)
        self.evidence = a0 * np.log(b0) - gammaln(a0) + gammaln(c) - c * np.log(e)
        entropy = c - np.log(e) + gammaln(c) + (1 - c) * digamma(c)
        prior = a0 * np.log(b0) - gammaln(a0) + (a0 - 1) * self.log_tau - b0 * self.tau
        self.bound = prior + entropy


class DensePointNormal:
    """Updates on explicit centred rows ``T`` (NaN where missing)."""

    def __init__(self, T, W, variance, noise):
        self.T, self.observed = T, np.isfinite(T)
        self.n, self.d = T.shape
        self.q = W.shape[1]
        self.M, self.V, self.P = W.copy(), np.zeros_like(W), np.ones_like(W)
        self.pi = np.full(self.q, 0.5)
        if noise == "shared":
            variance = np.full(self.d, variance.mean())
        self.tau = 1.0 / variance
        self.log_tau = np.log(self.tau)
        self.s = np.array([np.mean(W[:, j] ** 2 * self.tau) for j in range(self.q)])
        self.m = np.zeros(self.d)
        self.noise = noise
        self.v = np.nanmean(T**2, axis=0)
        # Pooled noise starts here; its prior is not learned by this oracle.
        self.a0, self.b0 = 0.5, np.exp(np.mean(np.log(variance)))
        # Each feature is of the pool or stands apart; at first one in ten does.
        self.apart = np.full(self.d, 0.1)

    def mean(self):
        return self.P * self.M

    def second(self, i):
        """``<w_i w_i'>``."""
        w = self.mean()[i]
        return np.outer(w, w) + np.diag(self.P[i] * (self.M[i] ** 2 + self.V[i]) - w**2)

    def round(self):
        self.update_scores()
        self.update_location()
        self.rescale()
        for j in range(self.q):
            self.update_component(j)
        self.update_noise()
        return self.bound()

    def update_scores(self):
        self.X = np.zeros((self.n, self.q))
        self.Sx = np.zeros((self.n, self.q, self.q))
        for n in range(self.n):
            precision, right = np.eye(self.q), np.zeros(self.q)
            for i in np.flatnonzero(self.observed[n]):
                precision += self.tau[i] * self.second(i)
                right += self.tau[i] * (self.T[n, i] - self.m[i]) * self.mean()[i]
            self.Sx[n] = np.linalg.inv(precision)
            self.X[n] = self.Sx[n] @ right

    def update_location(self):
        for i in range(self.d):
            seen = self.observed[:, i]
            self.m[i] = np.mean(self.T[seen, i] - self.X[seen] @ self.mean()[i])

    def rescale(self):
        for j in range(self.q):
            a = np.sqrt(np.mean(self.X[:, j] ** 2 + self.Sx[:, j, j]))
            self.X[:, j] /= a
            self.Sx[:, j, :] /= a
            self.Sx[:, :, j] /= a
            self.M[:, j] *= a
            self.V[:, j] *= a**2
            self.s[j] *= a**2

    def scores_of(self, i):
        """``S_i`` and ``c_i`` over the samples where feature i was observed."""
        seen = self.observed[:, i]
        S = self.Sx[seen].sum(axis=0) + self.X[seen].T @ self.X[seen]
        return S, self.X[seen].T @ (self.T[seen, i] - self.m[i])

    def update_component(self, j):
        for i in range(self.d):
            S, c = self.scores_of(i)
            others = self.mean()[i].copy()
            others[j] = 0.0
            k = S[j, j] + 1.0 / self.s[j]
            self.V[i, j] = 1.0 / (self.tau[i] * k)
            self.M[i, j] = (c[j] - S[j] @ others) / k
            odds = np.log(self.pi[j] / (1 - self.pi[j])) + 0.5 * (
                self.log_tau[i]
                - np.log(self.s[j])
                + np.log(self.V[i, j])
                + self.M[i, j] ** 2 / self.V[i, j]
            )
            self.P[i, j] = expit(odds)
        P = self.P[:, j]
        self.pi[j] = np.clip(P.mean(), 0.1 / self.d, 1 - 0.1 / self.d)
        square = self.M[:, j] ** 2 + self.V[:, j]
        self.s[j] = np.sum(P * self.tau * square) / P.sum()

    def half_error(self, i):
        S, c = self.scores_of(i)
        seen = self.observed[:, i]
        square = np.sum((self.T[seen, i] - self.m[i]) ** 2)
        return 0.5 * (square - 2 * c @ self.mean()[i] + np.trace(S @ self.second(i)))

    def update_noise(self):
        counts = self.observed.sum(axis=0)
        n = 0.5 * (counts + self.P.sum(axis=1))
        slabs = (self.P * (self.M**2 + self.V) / self.s).sum(axis=1)
        E = np.array([self.half_error(i) for i in range(self.d)]) + 0.5 * slabs
        own = (np.full(self.d, 0.5), 0.5 * ETA * self.v)
        if self.noise == "free":
            laws = [Law(*own, n, E)]
        elif self.noise == "shared":
            mean = np.array([0.5 * ETA * self.v.mean()])
            laws = [Law(np.array([0.5]), mean, n.sum(keepdims=True), E.sum(keepdims=True))]
        else:
            E = E + ETA * self.v
            pool = (np.full(self.d, self.a0), np.full(self.d, self.a0 * self.b0))
            laws = [Law(*pool, n, E), Law(*own, n, E)]
        shares = [np.ones_like(laws[0].tau)]
        self.noise_bound = 0.0
        if len(laws) == 2:
            self.chance = np.clip(self.apart.mean(), 0.1 / self.d, 1 - 0.1 / self.d)
            odds = np.log(self.chance / (1 - self.chance)) + laws[1].evidence - laws[0].evidence
            self.apart = expit(odds)
            shares = [1 - self.apart, self.apart]
            for share, chance in zip(shares, (1 - self.chance, self.chance), strict=True):
                self.noise_bound += np.sum(share * np.log(chance) + entr(share))
        self.tau = np.broadcast_to(
            sum(r * law.tau for r, law in zip(shares, laws, strict=True)), self.d
        )
        self.log_tau = np.broadcast_to(
            sum(r * law.log_tau for r, law in zip(shares, laws, strict=True)), self.d
        )
        self.noise_bound += sum(np.sum(r * law.bound) for r, law in zip(shares, laws, strict=True))

    def bound(self):
        """Expected log densities and entropies, one distribution after the other."""
        counts = self.observed.sum(axis=0)
        value = 0.0
        for i in range(self.d):
            value += 0.5 * counts[i] * (self.log_tau[i] - np.log(2 * np.pi))
            value -= self.tau[i] * self.half_error(i)
        for n in range(self.n):
            xx = self.Sx[n] + np.outer(self.X[n], self.X[n])
            value += 0.5 * (np.linalg.slogdet(self.Sx[n])[1] - np.trace(xx) + self.q)
        value += self.noise_bound
        if self.noise == "pooled":
            value -= np.sum(ETA * self.v * self.tau)
        for j in range(self.q):
            for i in range(self.d):
                P, square = self.P[i, j], self.M[i, j] ** 2 + self.V[i, j]
                slab = 0.5 * (self.log_tau[i] - np.log(self.s[j]) - np.log(2 * np.pi))
                slab -= 0.5 * self.tau[i] * square / self.s[j]
                slab += 0.5 * np.log(2 * np.pi * np.e * self.V[i, j])
                value += P * (slab + np.log(self.pi[j])) + entr(P)
                value += (1 - P) * np.log(1 - self.pi[j]) + entr(1 - P)
        return value - self.q * np.log(np.log(1e10))
