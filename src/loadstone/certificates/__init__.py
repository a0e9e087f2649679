"""How good a component could be: proven bounds, and the proofs to check them by."""

from loadstone.certificates.certificate import Certificate, CertificateError
from loadstone.certificates.prove import EFFORTS, prove

__all__ = ["EFFORTS", "Certificate", "CertificateError", "prove"]
