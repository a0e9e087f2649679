"""Principal components people can read: sparse, non-negative, exactly sized, certified."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from loadstone._version import __version__

#: Public names and where they live; nothing is imported before it is used.
_HOMES = {
    "CardinalityPath": "loadstone.selection.path",
    "Certificate": "loadstone.certificates.certificate",
    "EMPCA": "loadstone.estimators.em_pca",
    "ElasticNetPCA": "loadstone.estimators.elastic_net_pca",
    "ExactSparsePCA": "loadstone.estimators.exact_sparse_pca",
    "FeatureSelector": "loadstone.estimators.feature_selector",
    "GreedyPCA": "loadstone.estimators.greedy_pca",
    "NSPCA": "loadstone.estimators.ns_pca",
    "ProbabilisticPCA": "loadstone.estimators.probabilistic_pca",
    "SpannogramPCA": "loadstone.estimators.spannogram_pca",
    "SparseNoisyPCA": "loadstone.estimators.sparse_noisy_pca",
    "SparsePCA": "loadstone.estimators.sparse_pca",
    "SparsePCACV": "loadstone.estimators.sparse_pca_cv",
    "SparseProbabilisticPCA": "loadstone.estimators.sparse_probabilistic_pca",
    "ThresholdedPCA": "loadstone.estimators.thresholded_pca",
    "cardinality_path": "loadstone.estimators.cardinality_path",
    "certify": "loadstone.estimators.certify",
    "load_model": "loadstone.estimators.model_file",
    "save_model": "loadstone.estimators.model_file",
    "stability_selection": "loadstone.selection.stability",
    "suggest_cardinality": "loadstone.selection.suggest",
    "summarise": "loadstone.report.summarise",
}

#: Packages that are reached as attributes; ``report`` can be called as well.
_PACKAGES = ("anndata", "datasets", "plotting", "report")

__all__ = ["__version__", *_HOMES, *_PACKAGES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return import_module(f"loadstone.{name}")
    msg = f"module 'loadstone' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_PACKAGES])
