"""The paper's updates coded from the formulas, corrected and as printed.

Notation: ``T`` (N x d), ``W`` (d x q) with rows w_i of mean mu_i and covariance Sigma_i,
``tau = sigma^-2``, ``w2 = <w^2>``; numbers in brackets are those of the paper's equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, k0e, k1e, kv

Array = NDArray[np.float64]
A0 = B0 = BETA = 1e-3


@dataclass
class Law:
    """A prior by name with its hyperparameters: moments of z and its part of the bound."""

    name: str
    values: tuple[float, ...] = ()

    @classmethod
    def start(cls, name: str, squares: Array) -> Law:
        """First hyperparameters from the squared loadings of the start."""
        if name == "laplace":
            return cls(name, (2.0 * float(np.mean(np.sqrt(squares))) ** 2,))
        if name == "inverse_gaussian":
            return cls(name, (float(squares.mean()), float(squares.mean())))
        return cls(name)

    def moments(self, w2: Array) -> tuple[Array, Array]:
        """``<z>`` and ``<1/z>``."""
        if self.name == "laplace":
            (lam,) = self.values
            return (lam + np.sqrt(2 * lam * w2)) / 2, np.sqrt(2 / (lam * w2))
        if self.name == "inverse_gaussian":
            a, b = self.values
            al, be = a / b**2, a + w2
            s = np.sqrt(al * be)
            ratio = k0e(s) / k1e(s)
            return np.sqrt(be / al) * ratio, np.sqrt(al / be) * ratio + 2 / be
        return np.full_like(w2, np.inf), 1 / w2

    def learned(self, w2: Array) -> Law:
        """Type-II maximum likelihood."""
        z, inverse = self.moments(w2)
        if self.name == "laplace":
            return Law(self.name, (float(z.mean()),))
        if self.name == "inverse_gaussian":
            b = float(z.mean())
            return Law(self.name, (1 / (float(inverse.mean()) - 1 / b), b))
        return self

    def bound(self, w2: Array) -> float:
        """The part of the lower bound that one law contributes, with z integrated out."""
        if self.name == "laplace":
            (lam,) = self.values
            return float(np.sum(-0.5 * np.log(2 * lam) - np.sqrt(2 * w2 / lam)))
        if self.name == "inverse_gaussian":
            a, b = self.values
            al, be = a / b**2, a + w2
            s = np.sqrt(al * be)
            part = 0.5 * np.log(a) - np.log(np.pi) + a / b + 0.5 * np.log(al / be)
            return float(np.sum(part + np.log(k1e(s)) - s))
        return float(np.sum(-0.5 * np.log(w2)))


@dataclass
class Run:
    """What a run of the updates leaves: the bound after each round and what the loadings are."""

    bounds: Array
    mean: Array
    asymmetry: float


def updates(T: Array, W: Array, noise: float, prior: str, n_rounds: int, *, printed: bool) -> Run:
    """The loop of Section 4; ``printed`` takes (19), (22) and (26) or (31) as they stand."""
    with np.errstate(all="ignore"):
        return _updates(T, W, noise, prior, n_rounds, printed=printed)


def _updates(T: Array, W: Array, noise: float, prior: str, n_rounds: int, *, printed: bool) -> Run:
    n, d = T.shape
    q = W.shape[1]
    mu, tau, m = W.copy(), 1 / noise, np.zeros(d)
    Sigma = np.zeros((d, q, q))
    law = Law.start(prior, W**2)
    D = _prior_variance(law, W**2, printed=printed)
    bounds, asymmetry = [], 0.0
    for _ in range(n_rounds):
        WW = Sigma.sum(axis=0) + mu.T @ mu
        Sx = np.linalg.inv(np.eye(q) + tau * WW)
        X = tau * (T - m) @ mu @ Sx
        s2 = 1 / (BETA + n * tau)
        m = tau * s2 * (T - X @ mu.T).sum(axis=0)
        S = n * Sx + X.T @ X
        for i in range(d):
            if printed:
                Sigma[i] = np.linalg.inv(tau * S * D[i] + np.eye(q)) * D[i][:, None].T
                size = np.abs(Sigma[i]).max()
                asymmetry = max(asymmetry, float(np.abs(Sigma[i] - Sigma[i].T).max() / size))
            else:
                root = np.sqrt(D[i])
                inner = np.eye(q) + tau * root[:, None] * S * root
                Sigma[i] = root[:, None] * np.linalg.inv(inner) * root
            mu[i] = tau * Sigma[i] @ (X.T @ (T[:, i] - m[i]))
        WW = Sigma.sum(axis=0) + mu.T @ mu
        centred = T - m
        spread = 0.0 if printed else n * d * s2
        R = 0.5 * (np.sum(centred**2) - 2 * np.sum((centred @ mu) * X) + np.trace(WW @ S) + spread)
        c, e = A0 + n * d / 2, B0 + R
        tau = c / e
        w2 = mu**2 + np.einsum("ijj->ij", Sigma)
        bounds.append(_bound(n, d, q, tau, c, e, R, Sx, S, m, s2, Sigma) + law.bound(np.abs(w2)))
        D = _prior_variance(law, w2, printed=printed)
        law = law.learned(np.abs(w2))
        if not np.isfinite(bounds[-1]):
            break
    return Run(np.array(bounds), mu, asymmetry)


def _prior_variance(law: Law, w2: Array, *, printed: bool) -> Array:
    """What stands for the prior variance: ``1/<1/z>``, or ``<z>`` as the paper prints it."""
    if not printed:
        return np.asarray(1 / law.moments(w2)[1])
    if law.name == "inverse_gaussian":
        return printed_26(w2, *law.values)
    return np.asarray(w2 if law.name == "jeffreys" else law.moments(np.abs(w2))[0])


def printed_26(w2: Array, a: float, b: float) -> Array:
    """``<z>`` of the inverse-Gaussian prior as Eq. 26 prints it."""
    argument = np.sqrt(a * (np.abs(w2) + a) / b**2)
    return np.asarray(np.exp(a / b) * np.sqrt(2 / np.pi) * kv(0, argument))


def _bound(
    n: int,
    d: int,
    q: int,
    tau: float,
    c: float,
    e: float,
    R: float,
    Sx: Array,
    S: Array,
    m: Array,
    s2: float,
    Sigma: Array,
) -> float:
    """Everything but the prior of the loadings; each line is one distribution."""
    log_tau = digamma(c) - np.log(e)
    value = n * d / 2 * (log_tau - np.log(2 * np.pi)) - tau * R
    value += n / 2 * np.linalg.slogdet(Sx)[1] - np.trace(S) / 2 + n * q / 2
    value += d / 2 * np.log(BETA) - BETA / 2 * (m @ m + d * s2) + d / 2 * np.log(s2) + d / 2
    value += A0 * np.log(B0) - gammaln(A0) + (A0 - 1) * log_tau - B0 * tau
    value += c - np.log(e) + gammaln(c) + (1 - c) * digamma(c)
    value += 0.5 * sum(np.linalg.slogdet(part)[1] for part in Sigma)
    return float(value + d * q / 2 * (np.log(2 * np.pi) + 1))
