"""Sparse components that recover all features best, by least squares."""

from loadstone.solvers.recovery.solver import Recovery

__all__ = ["Recovery"]
