"""Eq. 3 of Zass and Shashua as it is printed, on a matrix: nothing of the package is asked."""

import numpy as np


def objective(A, U, alpha, beta, price=0.0):
    """``1/2 tr(U'AU) - alpha/4 |I - U'U|^2 - beta sum(U)``, less a price for every non-zero."""
    departure = np.square(np.eye(U.shape[1]) - U.T @ U).sum()
    paid = beta * U.sum() + price * np.count_nonzero(U)
    return 0.5 * np.trace(U.T @ A @ U) - 0.25 * alpha * departure - paid
