"""The effect of the treatment on the outcome: exact by intervention on the network, and estimated from records.

A secondary use that SimSUM names. The effect is E[outcome | do(treatment = last value)] - E[outcome | do(treatment =
first value)] (Pearl 2009, chapter 3), in the outcome's unit: days, or probability for an outcome of two values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tasks.network.coding import Codes, combine, encode, make_design
from tasks.network.fitting import LOGISTIC, POISSON, maximise, totals
from tasks.network.graph import Floats, NetworkDefinition, evidence_columns, intervene
from tasks.network.inference import joint
from tasks.network.recovery import FEWEST_IN_ALL
from tasks.network.sampling import resampled_totals
from tasks.statistics.bootstrap import bias_corrected_interval
from tasks.statistics.metric_rows import COMPUTED, metric_row, metric_table

CAUSAL_STREAM = 5
MAX_STRATA = 4096
"""Adjustment sets with more strata are left out of the table: no realistic sample fills them."""
NOTHING = "nothing"


@dataclass(frozen=True)
class Question:
    """The effect of a treatment with two values on a count or on an outcome with two values."""

    treatment: str
    outcome: str


def question_of(definition: NetworkDefinition) -> Question | None:
    """The network's treatment and outcome; None unless there is exactly one suitable variable of each type."""
    treatments = [name for name in definition.of_type("treatment") if len(definition.values(name)) == 2]
    outcomes = [
        name for name in definition.of_type("outcome") if definition.is_count(name) or len(definition.values(name)) == 2
    ]
    return Question(treatments[0], outcomes[0]) if len(treatments) == len(outcomes) == 1 else None


def mean_outcome(network: NetworkDefinition, outcome: str) -> float:
    """E[outcome] under the network, exact."""
    parents = network.parents(outcome)
    return float((joint(network, parents) * _mean_given_parents(network, outcome)).sum())


def exact_effect(network: NetworkDefinition, question: Question) -> float:
    """The average treatment effect, exact: each arm is the network under intervention."""
    first, last = network.values(question.treatment)
    means = [mean_outcome(intervene(network, question.treatment, value), question.outcome) for value in (first, last)]
    return means[1] - means[0]


def exact_association(network: NetworkDefinition, question: Question) -> float:
    """E[outcome | treated] - E[outcome | not treated], exact: the limit of an unadjusted comparison."""
    parents = network.parents(question.outcome)
    names = parents if question.treatment in parents else (*parents, question.treatment)
    weights = np.moveaxis(joint(network, names), names.index(question.treatment), -1)
    means = _mean_given_parents(network, question.outcome)
    if question.treatment in parents:
        means = np.moveaxis(means, parents.index(question.treatment), -1)
    else:
        means = means[..., None]
    axes = tuple(range(weights.ndim - 1))
    arms = (weights * means).sum(axis=axes) / weights.sum(axis=axes)
    return float(arms[1] - arms[0])


def _mean_given_parents(network: NetworkDefinition, outcome: str) -> Floats:
    if network.is_count(outcome):
        return network.rates(outcome)
    return np.exp(network.log_conditional(outcome)[..., 1])


def adjustment_sets(definition: NetworkDefinition, question: Question) -> dict[str, tuple[tuple[str, ...], bool]]:
    """Adjustment sets by name, each with whether it blocks every back-door path (according to pgmpy).

    The empty set; pgmpy's minimal back-door set; the outcome's other causes; the non-symptom variables of a realistic
    record, which show how much of the confounding is recorded in the note only.
    """
    from pgmpy.base import DAG  # takes seconds to import
    from pgmpy.identification import Adjustment

    treatment, outcome, order = question.treatment, question.outcome, definition.order
    edges = [(parent, name) for name in order for parent in definition.parents(name)]
    dag = DAG(ebunch=edges, roles={"exposures": treatment, "outcomes": outcome})
    dag.add_nodes_from(name for name in order if name not in dag)
    causes = tuple(name for name in definition.parents(outcome) if name != treatment)
    recorded = tuple(name for name in evidence_columns(definition, outcome, "realistic") if name != treatment)
    adjustment = Adjustment(variant="minimal")
    found, success = adjustment.identify(dag)
    minimal = found.get_role("adjustment") if success else ()
    sets = {
        NOTHING: (),
        "minimal back-door set": tuple(name for name in definition.variables if name in minimal),
        "other causes of the outcome": causes,
        "record without symptoms": recorded,
    }
    return {
        name: (columns, bool(adjustment.validate(dag.with_role("adjustment", set(columns)) if columns else dag)))
        for name, columns in sets.items()
        if name == NOTHING or (columns and np.prod(definition.cards(columns)) <= MAX_STRATA)
    }


def stratified_effect(n: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Standardisation: the difference of the arms' means in each stratum, weighted by the stratum's records.

    ``n`` and ``s`` (data sets, strata, 2): records and sum of the outcome by arm. Strata without records in both arms
    are left out. Returns the effects and the number of records left out, shape (data sets,) each.
    """
    usable = (n > 0).all(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = s / n
        difference = np.where(usable, means[..., 1] - means[..., 0], 0.0)
        size = np.where(usable, n.sum(axis=2), 0.0)
        return (difference * size).sum(axis=1) / size.sum(axis=1), (n.sum(axis=2) - size).sum(axis=1)


def regression_effect(
    network: NetworkDefinition, names: Sequence[str], question: Question, n: Floats, s: Floats
) -> Floats:
    """The g-formula with a Poisson or logistic regression of the outcome on ``names``, one model per arm.

    ``n`` and ``s`` (data sets, strata, 2) as above. No stratum is left out: the regression extrapolates to arms without
    records.
    """
    likelihood = POISSON if network.is_count(question.outcome) else LOGISTIC
    design = make_design(network, names, None).matrix
    arms = []
    for arm in (0, 1):
        eta = maximise(design, n[..., arm], s[..., arm], likelihood) @ design.T
        arms.append(np.exp(eta) if likelihood is POISSON else 1 / (1 + np.exp(-eta)))
    share = n.sum(axis=2) / n.sum(axis=(1, 2))[:, None]
    return ((arms[1] - arms[0]) * share).sum(axis=1)


def causal_table(definition: NetworkDefinition, records: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """The causal table, in the columns of metric tables: metrics "effect" and "bias" (estimate minus exact effect).

    Systems: the network itself (exact), and estimates from ``records`` by stratification and by regression with each
    adjustment set as condition, with bootstrap intervals from `FEWEST_IN_ALL` records on. ``unscored`` counts the
    records in strata without both arms. Empty for a network without one treatment and one outcome.
    """
    question = question_of(definition)
    if question is None:
        return metric_table([])
    item = f"{question.treatment} on {question.outcome}"
    truth = exact_effect(definition, question)
    exact: dict[str, Any] = {"system": "network, exact", "item": item, "metric": "effect", "n": 0}
    rows = [
        metric_row(condition="intervention", value=truth, **exact),
        metric_row(condition="observed difference", value=exact_association(definition, question), **exact),
    ]
    codes = encode(definition, records, definition.variables)
    for number, (label, (names, valid)) in enumerate(adjustment_sets(definition, question).items()):
        condition = (
            f"{label}{'' if names else ' adjusted for'}{', blocks every back door' if valid else ', leaves back doors'}"
        )
        random = np.random.default_rng([seed, CAUSAL_STREAM, number])
        n, s = _strata(definition, names, codes, question, draws, random)
        stratified, left_out = stratified_effect(n, s)
        estimates = {"stratification" if names else "difference of means": (stratified, int(left_out[0]))}
        if names:
            estimates["regression"] = (regression_effect(definition, names, question, n, s), 0)
        for system, (effects, unscored) in estimates.items():
            used = len(records) - unscored
            enough = len(records) >= FEWEST_IN_ALL
            low, high = bias_corrected_interval(effects[1:], float(effects[0]), used) if enough else (np.nan, np.nan)
            shared: dict[str, Any] = {
                "system": system,
                "condition": f"{len(records)} records; {condition}",
                "item": item,
                "n": used,
                "unscored": unscored,
                "seed": seed,
            }
            rows.append(metric_row("effect", effects[0], low, high, **shared))
            rows.append(metric_row("bias", effects[0] - truth, low - truth, high - truth, **shared))
    return metric_table(rows, stage="network", provenance=COMPUTED)


def _strata(
    definition: NetworkDefinition,
    names: tuple[str, ...],
    codes: Codes,
    question: Question,
    draws: int,
    random: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Records and sum of the outcome by stratum of ``names`` and arm, (1 + draws, strata, 2); observed data first."""
    cells = combine(definition, (*names, question.treatment), codes, len(codes[question.outcome]))
    strata = int(np.prod(definition.cards(names)))
    observed = totals(cells, codes[question.outcome], 2 * strata)
    resampled = resampled_totals(cells, codes[question.outcome], 2 * strata, draws, random)
    shape = (1 + draws, strata, 2)
    n, s = (np.concatenate([one[None], more]).reshape(shape) for one, more in zip(observed, resampled, strict=True))
    return n, s
