# Made by tools/make_stub.py; changes made here by hand are lost.
# ruff: noqa: RUF022

from loadstone import anndata as anndata
from loadstone import constraints as constraints
from loadstone import datasets as datasets
from loadstone import metrics as metrics
from loadstone import plotting as plotting
from loadstone._version import __version__ as __version__
from loadstone.certificates.certificate import Certificate as Certificate
from loadstone.covariance.sample import SampleCovariance as SampleCovariance
from loadstone.estimators.elastic_net_pca import ElasticNetPCA as ElasticNetPCA
from loadstone.estimators.em_pca import EMPCA as EMPCA
from loadstone.estimators.exact_sparse_pca import ExactSparsePCA as ExactSparsePCA
from loadstone.estimators.greedy_pca import GreedyPCA as GreedyPCA
from loadstone.estimators.model_file import load_model as load_model
from loadstone.estimators.model_file import save_model as save_model
from loadstone.estimators.ns_pca import NSPCA as NSPCA
from loadstone.estimators.probabilistic_pca import ProbabilisticPCA as ProbabilisticPCA
from loadstone.estimators.spannogram_pca import SpannogramPCA as SpannogramPCA
from loadstone.estimators.sparse_noisy_pca import SparseNoisyPCA as SparseNoisyPCA
from loadstone.estimators.sparse_pca import SparsePCA as SparsePCA
from loadstone.estimators.sparse_probabilistic_pca import (
    SparseProbabilisticPCA as SparseProbabilisticPCA,
)
from loadstone.estimators.thresholded_pca import ThresholdedPCA as ThresholdedPCA
from loadstone.files.table import Table as Table
from loadstone.files.tables import read_table as read_table
from loadstone.report import _CallableModule
from loadstone.report.summarise import summarise as summarise
from loadstone.selection.cardinality_path import cardinality_path as cardinality_path
from loadstone.selection.certify import certify as certify
from loadstone.selection.feature_selector import FeatureSelector as FeatureSelector
from loadstone.selection.held_out import cross_validated_recovery as cross_validated_recovery
from loadstone.selection.path import CardinalityPath as CardinalityPath
from loadstone.selection.sparse_pca_cv import SparsePCACV as SparsePCACV
from loadstone.selection.stability import stability_selection as stability_selection
from loadstone.selection.suggest import suggest_cardinality as suggest_cardinality

report: _CallableModule

__all__ = [
    "__version__",
    "CardinalityPath",
    "Certificate",
    "EMPCA",
    "ElasticNetPCA",
    "ExactSparsePCA",
    "FeatureSelector",
    "GreedyPCA",
    "NSPCA",
    "ProbabilisticPCA",
    "SampleCovariance",
    "SpannogramPCA",
    "SparseNoisyPCA",
    "SparsePCA",
    "SparsePCACV",
    "SparseProbabilisticPCA",
    "Table",
    "ThresholdedPCA",
    "cardinality_path",
    "certify",
    "cross_validated_recovery",
    "load_model",
    "read_table",
    "save_model",
    "stability_selection",
    "suggest_cardinality",
    "summarise",
    "anndata",
    "constraints",
    "datasets",
    "metrics",
    "plotting",
    "report",
]
