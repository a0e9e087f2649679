"""The same data in another order, unit or container: the same answer; and a refused second fit."""

from __future__ import annotations

import numpy as np

from fitted_state import answer, differences
from fuzz.inputs import CONTAINERS
from fuzz.properties import REFUSALS, ViolationError, as_dense, fitted, looseness, require
from fuzz.ties import equally_good, is_undetermined
from loadstone.loadings import Stop
from loadstone.solvers.elastic_net import PATIENCE

#: Numbers without ties, of which the answer has no reason to change with the last digit.
GENERIC = {"gaussian", "factors", "heavy"}


def twice(cls, model, given):
    """The same fit gives the same, bit by bit, where no clock ends it."""
    again = fitted(cls, given)
    if _ended_by(Stop.TIME_LIMIT, model, again):
        return
    _same(_untimed(model), _untimed(again), 0.0, "a second fit")


def refused(cls, model, given):
    """A refused second fit leaves what was there."""
    before = answer(model)
    broken = np.full((5, given.dense.shape[1]), np.inf)
    try:
        model.fit(broken)
    except REFUSALS:
        _same(before, answer(model), 0.0, "a refused refit")
    else:
        msg = "infinite data was fitted"
        raise ViolationError(msg)


def other_container(cls, model, given):
    """Every container holds the same table."""
    names = [
        name for name in CONTAINERS if name != given.container and not _refuses(cls, given, name)
    ]
    if not names:
        return
    name = names[given.seed // 7 % len(names)]
    twin = fitted(cls, given, CONTAINERS[name](given.dense))
    _same_variance(model, twin, given, f"{given.container} and {name}")


def _refuses(cls, given, container):
    """Entropy and missing values are of dense data; folds of rows are taken in memory."""
    of_rows = cls.__name__ == "SparsePCACV" and given.parameters.get("route") == "data"
    if container == "dask" and ("cv" in given.parameters or of_rows):
        return True
    if "list" in (container, given.container) and given.dense.dtype == np.float32:
        # Lists hold double precision.
        return True
    sparse = container in ("csr", "csc", "coo", "bsr", "dask")
    dense_only = given.parameters.get("method") == "svd_entropy" or np.isnan(given.dense).any()
    return sparse and dense_only


def other_order_of_samples(cls, model, given):
    """Samples have no order, unless they are held out by it."""
    if "cv" in model.get_params() or given.parameters.get("n_components") == "cv" or _draws(model):
        return
    order = np.random.default_rng(given.seed).permutation(len(given.dense))
    weights = None if given.weights is None else given.weights[order]
    moved = _with(given, given.dense[order], weights)
    _same_variance(model, fitted(cls, moved), given, "another order of samples")


def other_order_of_features(cls, model, given):
    """Features have no order; whoever draws at random draws other directions for them."""
    if set(given.parameters) & {"forced", "forbidden", "constraint"} or _draws(model):
        return
    if model.get_params().get("refine") in ("full", True):
        # Components are searched again without features that are drawn.
        return
    order = np.random.default_rng(given.seed).permutation(given.dense.shape[1])
    moved = _with(given, given.dense[:, order], given.weights)
    _same_variance(model, fitted(cls, moved), given, "another order of features")


def _draws(model):
    """Whether a search begins at random directions; those of NSPCA do not depend on the order."""
    parameters = model.get_params()
    several = parameters.get("n_init") not in (None, 1)
    # The published start of non-negative loadings, as the page of the method says.
    published = type(model).__name__ == "EMPCA" and parameters["nonnegative"] is True
    at_random = parameters.get("init") == "random" or (published and parameters["init"] is None)
    return type(model).__name__ != "NSPCA" and (several or at_random)


#: Numbers that leave the range of single precision, or of all numbers, in another unit.
EXTREME = {"tiny", "huge", "outlier", "unequal"}


def other_unit(cls, model, given):
    """A unit is a convention, but for penalties that are in units of the covariance."""
    if given.dense.dtype.kind != "f" or given.numbers in EXTREME:
        return
    if "ridge" in model.get_params() or _draws(model):
        return
    factor = 2.0 ** (10 if given.seed // 7 % 2 else -10)
    moved = _with(given, given.dense * given.dense.dtype.type(factor), given.weights)
    scaled = 1.0 if vars(model).get("scale_") is not None else factor**2
    _same_variance(model, fitted(cls, moved), given, "another unit", scaled)


RELATIONS = [
    twice, refused, other_container, other_order_of_samples, other_order_of_features, other_unit,
]  # fmt: skip


def check_relation(cls, model, given):
    """The relation whose turn it is."""
    relation = RELATIONS[given.seed % len(RELATIONS)]
    relation(cls, model, given)


def _with(given, dense, weights):
    from dataclasses import replace

    return replace(given, dense=dense, X=CONTAINERS[given.container](dense), weights=weights)


def _untimed(model):
    """Without bounds of proofs that a clock may end."""
    timed = {"upper_bound_", "gap_"} if "time_limit" in model.get_params() else set()
    return {name: value for name, value in answer(model).items() if name not in timed}


#: Methods that take the first of features that tie, and end elsewhere; their pages say so.
TAKES_FIRST = {
    "ElasticNetPCA", "EMPCA", "GreedyPCA", "NSPCA", "SpannogramPCA", "ThresholdedPCA",
}  # fmt: skip


def _same_variance(model, twin, given, what, factor=1.0):
    """As many components, and as much variance; where there are ties, of the first alone."""
    explained = vars(model).get("explained_variance_")
    if _ended_by(Stop.MAX_ITER, model, twin) or _ended_by(Stop.TIME_LIMIT, model, twin):
        # Where an unsettled search stands at its last iteration hangs on the last digit.
        return
    if type(model).__name__ == "ElasticNetPCA" and _takes_turns(given, model, twin):
        return
    if _is_a_model(model) and any(is_undetermined(given, m) for m in (model, twin)):
        return
    generic = given.numbers in GENERIC and given.dense.dtype.kind == "f"
    if explained is None:
        if not generic and _selected_fewer(model, twin):
            return
        same = as_dense(model.get_support()).sum() == as_dense(twin.get_support()).sum()
        require(same or equally_good(given, model, twin), f"{what}: another number of features")
        return
    if not generic and _chose_another_size(model, twin):
        return
    said = _difference(model, twin, given, factor, generic=generic)
    require(not said or equally_good(given, model, twin), f"{what}: {said}")


def _difference(model, twin, given, factor, *, generic):
    """What differs, or nothing."""
    if model.get_params().get("objective") == "recovery":
        # Other components may recover as much of all features, whatever they explain themselves.
        shares = [np.append(0.0, m.recovered_variance_ratio_)[-1] for m in (model, twin)]
        return "" if abs(shares[0] - shares[1]) <= looseness(given) else f"recovered {shares}"
    explained, found = model.explained_variance_, twin.explained_variance_ / factor
    slack = looseness(given) * model.total_variance_
    if generic:
        if len(found) != len(explained):
            return f"{len(explained)} and {len(found)}"
        first, second = np.sum(explained), np.sum(found)
    else:
        first, second = (np.append(v, 0)[0] for v in (explained, found))
    return "" if abs(first - second) <= slack else f"{explained} and {found}"


def _ended_by(stop, *models):
    return any(stop.value in vars(m).get("stop_reason_", []) for m in models)


def _is_a_model(model):
    return type(model).__name__.endswith(("NoisyPCA", "ProbabilisticPCA"))


def _selected_fewer(*models):
    """Whether no other feature raised the variance; how many do hangs on which component ties."""
    return any(m.n_features_to_select_ < m._size(m.n_features_in_) for m in models)


def _takes_turns(given, *models):
    """Which features tie, or where sizes that take turns are held, hangs on the last digit.

    The page of the method says so.
    """
    return given.numbers not in GENERIC or any(m.n_iter_ > PATIENCE for m in models)


def _chose_another_size(model, twin):
    """Whether ties between sizes were broken another way."""
    chosen = model.get_params().get("n_nonzero", "auto") == "auto"
    sizes = [tuple(m.cardinality_[:1]) for m in (model, twin)]
    return chosen and sizes[0] != sizes[1]


def _same(first, second, tol, what):
    found = differences(first, second, tol)
    require(not found, f"{what} differs: {found[:3]}")
