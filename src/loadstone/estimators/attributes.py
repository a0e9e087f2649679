"""The attributes that fitted estimators share: what each of them holds."""

from __future__ import annotations

from typing import NamedTuple


class Attribute(NamedTuple):
    """Type and meaning as the documentation gives them."""

    kind: str
    text: str


_ROWS = "ndarray of shape (n_components_, n_features)"
_EACH = "ndarray of shape (n_components_,)"
_PAIRS = "ndarray of shape (n_components_, n_components_)"

#: What every set of components has.
COMPONENTS: dict[str, Attribute] = {
    "components_": Attribute(
        _ROWS,
        "Unit-norm loadings, one row per component. The largest absolute loading of a\n"
        "row is positive, unless the constraint decides about signs.",
    ),
    "explained_variance_": Attribute(
        _EACH, "Adjusted variance: what each component explains beyond those before it."
    ),
    "explained_variance_ratio_": Attribute(_EACH, "The same as a share of the total variance."),
    "marginal_variance_": Attribute(_EACH, "Variance of the scores of each component alone."),
    "recovered_variance_ratio_": Attribute(
        _EACH,
        "Share of the variance of all features that a regression on the scores of the first\n"
        "1, 2, ... components recovers; never more than PCA does with as many. Flattered where\n"
        "the components use more features than a quarter of the samples:\n"
        "``cross_validated_recovery`` tells the share of samples that were held out.",
    ),
    "total_variance_": Attribute("float", "Trace of the covariance."),
    "orthogonality_violation_": Attribute(
        _PAIRS, "``|w_i'w_j|`` for every pair of components, zero on the diagonal."
    ),
    "score_correlation_": Attribute(_PAIRS, "Correlation of the projections on the components."),
    "support_": Attribute(
        "ndarray of bool of shape (n_components_, n_features)",
        "Which features each component uses.",
    ),
    "cardinality_": Attribute(
        "ndarray of int of shape (n_components_,)", "How many features each component uses."
    ),
    "mean_": Attribute("ndarray of shape (n_features,)", "Mean of the data."),
    "scale_": Attribute(
        "ndarray of shape (n_features,) or None", "Standard deviations the data is divided by."
    ),
    "n_components_": Attribute(
        "int", "Components found; fewer than asked for where nothing is left to explain."
    ),
    "n_samples_": Attribute("float", "Sum of the sample weights."),
    "n_iter_": Attribute("int", "Largest number of iterations of a component."),
    "stop_reason_": Attribute("list of str", "Why each search ended."),
    "objective_": Attribute("list of ndarray", "Variance along the search of each component."),
    "looked_at_": Attribute(
        "dict or None",
        "How far the search looked, where wide data out of core was not looked at as a whole:\n"
        "``n_features`` of a working set, ``n_pricings`` in which all features were asked\n"
        "whether they want in, and ``n_wanting``, how many did when asked for the last time.",
    ),
}

#: What components with proofs have on top.
CERTIFICATES: dict[str, Attribute] = {
    "certificates_": Attribute(
        "list of Certificate",
        "The proof of each component, to inspect, verify and save. Each says what it is\n"
        "relative to: the data, what earlier components left, or the features they did not use.",
    ),
    "joint_certificate_": Attribute(
        "JointCertificate",
        "What all components reach together, and a proven limit of it: the adjusted variance,\n"
        "and the sum of the variances where the relation of the components bounds it.",
    ),
    "upper_bound_": Attribute(_EACH, "Proven limits of the variance of each component."),
    "gap_": Attribute(_EACH, "Variance each component might still be missing."),
}

#: What every estimator knows of its input.
INPUT: dict[str, Attribute] = {
    "n_features_in_": Attribute("int", "Number of features."),
    "feature_names_in_": Attribute(
        "ndarray of shape (n_features_in_,)", "Names of the features, where ``X`` has them."
    ),
}
