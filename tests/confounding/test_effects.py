"""Adjustment for the confounder recovers the effect; its interval covers the truth as often as it says."""

import numpy as np
import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.tables.metrics import METRICS
from tasks.confounding.aipw import Estimate, _combined, difference, doubly_robust
from tasks.confounding.coverage import (
    EMBEDDINGS,
    EXACT,
    MISSPECIFIED,
    NOISE,
    SPANS,
    TABLES,
    UNADJUSTED,
    WITHOUT_SYMPTOMS,
    adjustment_designs,
    confounding_table,
    estimates,
    standard_error,
)

RATE, LONGER = 2.0, 1.5
"""Mean outcome of an untreated patient without the symptom; factor of the symptom."""
EFFECT = -0.5
"""Of the treatment, on everybody."""


def population(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Patients with the symptom are treated more often and stay longer: (symptom, treated, outcome)."""
    random = np.random.default_rng(seed)
    symptom = random.random(n) < 0.4
    treated = random.random(n) < np.where(symptom, 0.7, 0.2)
    outcome = random.poisson(RATE * np.where(symptom, LONGER, 1.0) + EFFECT * treated).astype(float)
    return symptom, treated, outcome


def test_adjustment_removes_the_bias_of_the_difference():
    symptom, treated, outcome = population(6000)
    noise = np.random.default_rng(1).normal(size=(6000, 3))
    adjusted = doubly_robust(np.column_stack([symptom, noise]), treated, outcome, folds=5, seed=0)
    low, high = adjusted.interval
    assert low < EFFECT < high
    assert difference(treated, outcome).effect > EFFECT + 0.3


def test_no_other_random_numbers_move_the_estimate():
    symptom, treated, outcome = population(400)
    columns = np.column_stack([symptom, symptom, symptom])  # any of which the L1 penalty may keep
    found = set()
    for state in range(4):
        np.random.seed(state)  # the state that scikit-learn uses where it is given none
        found.add(doubly_robust(columns, treated, outcome, folds=3, seed=0))
    assert len(found) == 1


@pytest.mark.parametrize("constant", ["outcome", "propensity"])
def test_either_model_alone_removes_the_bias(constant: str):
    symptom, treated, outcome = population(8000)
    adjusted = doubly_robust(symptom[:, None].astype(float), treated, outcome, folds=3, seed=0, constant=constant)
    assert adjusted.interval[0] < EFFECT < adjusted.interval[1]


def test_repeated_partitions_are_combined_by_their_median():
    symptom, treated, outcome = population(600)
    design = symptom[:, None].astype(float)
    parts = [doubly_robust(design, treated, outcome, folds=2, seed=6 + part) for part in range(3)]
    together = doubly_robust(design, treated, outcome, folds=2, seed=2, repeats=3)
    effects = sorted(part.effect for part in parts)
    assert together.effect == effects[1]
    variances = sorted(part.error**2 + (part.effect - effects[1]) ** 2 for part in parts)
    assert together.error == pytest.approx(variances[1] ** 0.5)


def test_support_by_hand():
    """Weights 4 and 4/3 of two treated, 2 of each control; Kish's size of the treated is (16/3)^2 / (160/9) = 1.6."""
    treated, propensity = np.array([True, True, False, False]), np.array([0.25, 0.75, 0.5, 0.5])
    outcome, expected = np.array([3.0, 1.0, 0.0, 2.0]), np.array([[1.0, 1, 1, 1], [2.0, 2, 2, 2]])
    found = _combined(treated, outcome, expected, propensity)
    scores = np.array([1 + 4, 1 - 4 / 3, 1 + 2, 1 - 2])
    assert (found.effect, found.error) == pytest.approx((scores.mean(), scores.std(ddof=1) / 2))
    assert (found.overlap, found.effective_size) == pytest.approx((1.0, 1.6))
    strength = scores.mean() ** 2 / (1.0 * (16 + 16 / 9 + 4 + 4) / 4)
    assert found.robustness**2 / (1 - found.robustness) == pytest.approx(strength)
    assert _combined(treated, outcome, expected, np.array([0.96, 0.75, 0.5, 0.5])).overlap == 0.75


def test_a_constant_column_and_rare_treatment_give_a_finite_estimate():
    symptom, _, outcome = population(600)
    treated = np.arange(600) % 30 == 0
    estimate = doubly_robust(np.column_stack([symptom, np.ones(600)]), treated, outcome, folds=5, seed=0)
    assert np.isfinite([estimate.effect, estimate.error]).all()


def test_the_error_of_the_mean_over_draws_includes_the_pools():
    random, bias = np.random.default_rng(5), []
    for _ in range(300):
        pool = random.normal(size=400)
        values = np.array([random.choice(pool, 100, replace=False).mean() for _ in range(20)])
        bias.append((values.mean(), standard_error(values, 100 / 400)))
    means, errors = np.array(bias).T
    assert errors.mean() == pytest.approx(means.std(), rel=0.12)


def test_text_that_shows_the_symptom_adjusts_as_well_as_the_table():
    symptom, treated, outcome = population(2000)
    records = pd.DataFrame({"season": np.tile(["summer", "winter"], 1000), "cough": np.where(symptom, "yes", "no")})
    direction = np.random.default_rng(2).normal(size=8).astype(np.float32)
    spans = (symptom[:, None] * direction).astype(np.float32)
    notes = spans + np.random.default_rng(4).normal(scale=0.1, size=(2000, 8)).astype(np.float32)
    designs = adjustment_designs(records, ["season"], ["cough"], {"cough": spans}, notes, 5, seed=1)
    assert [designs[name].shape[1] for name in (WITHOUT_SYMPTOMS, SPANS, EMBEDDINGS, TABLES, NOISE)] == [1, 7, 6, 2, 7]
    found = estimates(designs, treated, outcome, draws=3, size=1000, folds=2, repeats=1, seed=1)
    table = check(
        confounding_table(found, EFFECT, pool=2000, size=1000, seed=1, item="drug on days", provenance="test"),
        METRICS,
        "text_confounding",
    )
    bias = table[table["metric"] == "bias"].set_index("system")["value"].abs()
    assert bias[[SPANS, EMBEDDINGS, TABLES]].max() < 0.15 < bias[[UNADJUSTED, WITHOUT_SYMPTOMS]].min()
    assert table[table["system"] == EXACT]["value"].tolist() == [EFFECT]
    gaps = table[table["metric"] == "effect_minus_tables"].set_index("system")["value"]
    assert TABLES not in gaps and abs(gaps[NOISE]) < 0.02 < gaps[WITHOUT_SYMPTOMS]
    support = table.pivot(index="system", columns="metric", values="value")
    assert support.loc[TABLES, "overlap"] == 1 and 200 < support.loc[TABLES, "effective_size"] < 400
    assert set(MISSPECIFIED) < set(support.index) and 0 < support.loc[TABLES, "robustness"] < 1


def test_coverage_counts_the_draws_whose_interval_holds_the_exact_effect():
    drawn = [Estimate(value, 0.1) for value in np.linspace(-0.4, 0.4, 41)]
    table = confounding_table({SPANS: drawn}, 0.0, pool=1000, size=100, seed=1, item="x", provenance="test")
    coverage = table.set_index("metric").loc["coverage"]
    assert coverage["value"] == pytest.approx(19 / 41)
    assert coverage["low"] < coverage["value"] < coverage["high"]


def test_an_interval_that_ends_at_the_exact_effect_holds_it():
    drawn = [Estimate(value, 0.1) for value in (0.0, 0.5)]
    low, high = drawn[0].interval
    for exact in (low, high):
        table = confounding_table({SPANS: drawn}, exact, pool=1000, size=100, seed=1, item="x", provenance="test")
        assert table.set_index("metric").loc["coverage", "value"] == 0.5
