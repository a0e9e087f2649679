"""What the data is: six members of a :class:`Covariance`, six kinds of it."""

from loadstone.covariance.deflated import DEFLATION_NAMES, DeflatedCovariance, deflate
from loadstone.covariance.explicit import ExplicitCovariance, materialise
from loadstone.covariance.from_data import DataCovariance
from loadstone.covariance.low_rank import LowRankCovariance
from loadstone.covariance.moments import Moments
from loadstone.covariance.protocol import Array, Covariance, Support
from loadstone.covariance.quadratic import score_moments, variances_of
from loadstone.covariance.route import ROUTES, covariance_of
from loadstone.covariance.sample import SampleCovariance
from loadstone.covariance.sample_gram import SampleGram
from loadstone.covariance.spectrum import leading_eigenpairs, leading_eigenvalues

__all__ = [
    "DEFLATION_NAMES",
    "ROUTES",
    "Array",
    "Covariance",
    "DataCovariance",
    "DeflatedCovariance",
    "ExplicitCovariance",
    "LowRankCovariance",
    "Moments",
    "SampleCovariance",
    "SampleGram",
    "Support",
    "covariance_of",
    "deflate",
    "leading_eigenpairs",
    "leading_eigenvalues",
    "materialise",
    "score_moments",
    "variances_of",
]
