"""What is wrong with a certificate."""

from __future__ import annotations


class CertificateError(RuntimeError):
    """A certificate does not hold: a claim and its proof disagree, or its file is damaged."""


class OutOfRangeError(CertificateError, ValueError):
    """The numbers of the data are so small or large that nothing can be proven of them."""
