"""Adjustment for the confounder recovers the effect; its interval covers the truth as often as it says."""

import numpy as np
import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.tables.metrics import METRICS
from tasks.confounding.aipw import Estimate, difference, doubly_robust
from tasks.confounding.coverage import EXACT, Pool, confounding_table, estimates, standard_error
from tasks.confounding.designs import (
    EMBEDDINGS,
    SPANS,
    TABLES,
    UNADJUSTED,
    WITHOUT_SYMPTOMS,
    adjustment_designs,
    one_hot,
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


def test_an_interval_is_as_wide_as_estimates_vary():
    found = [
        doubly_robust(one[:, None], t, y, folds=2, seed=0) for one, t, y in (population(800, s) for s in range(40))
    ]
    spread = np.std([estimate.effect for estimate in found], ddof=1)
    assert np.mean([estimate.error for estimate in found]) == pytest.approx(spread, rel=0.35)
    assert sum(low < EFFECT < high for low, high in (estimate.interval for estimate in found)) >= 34


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
    symptom, treated, outcome = population(3000)
    records = pd.DataFrame({"season": np.tile(["summer", "winter"], 1500), "cough": np.where(symptom, "yes", "no")})
    direction = np.random.default_rng(2).normal(size=8).astype(np.float32)
    spans = (symptom[:, None] * direction).astype(np.float32)
    notes = spans + np.random.default_rng(4).normal(scale=0.1, size=(3000, 8)).astype(np.float32)
    designs = adjustment_designs(records, ["season"], ["cough"], {"cough": spans}, notes, 5)
    assert [designs[name].shape[1] for name in (WITHOUT_SYMPTOMS, SPANS, EMBEDDINGS, TABLES)] == [1, 7, 6, 2]
    found = estimates(Pool(designs, treated, outcome), draws=10, size=1000, folds=2, seed=1)
    table = check(
        confounding_table(found, EFFECT, pool=3000, size=1000, seed=1, item="drug on days", provenance="test"),
        METRICS,
        "text_confounding",
    )
    bias = table[table["metric"] == "bias"].set_index("system")["value"].abs()
    assert bias[[SPANS, EMBEDDINGS, TABLES]].max() < 0.15 < bias[[UNADJUSTED, WITHOUT_SYMPTOMS]].min()
    assert table[table["system"] == EXACT]["value"].tolist() == [EFFECT]
    again = estimates(Pool(designs, treated, outcome), draws=10, size=1000, folds=2, seed=1)
    assert again[SPANS] == found[SPANS]


def test_coverage_counts_the_draws_whose_interval_holds_the_exact_effect():
    drawn = [Estimate(value, 0.1) for value in np.linspace(-0.4, 0.4, 41)]
    table = confounding_table({SPANS: drawn}, 0.0, pool=1000, size=100, seed=1, item="x", provenance="test")
    coverage = table.set_index("metric").loc["coverage"]
    assert coverage["value"] == pytest.approx(19 / 41)
    assert coverage["low"] < coverage["value"] < coverage["high"]


def test_indicators_leave_out_the_first_value():
    assert one_hot(pd.DataFrame({"fever": ["none", "low", "high"]}), ["fever"]).tolist() == [[0, 1], [1, 0], [0, 0]]


def test_an_interval_that_ends_at_the_exact_effect_holds_it():
    drawn = [Estimate(value, 0.1) for value in (0.0, 0.5)]
    low, high = drawn[0].interval
    for exact in (low, high):
        table = confounding_table({SPANS: drawn}, exact, pool=1000, size=100, seed=1, item="x", provenance="test")
        assert table.set_index("metric").loc["coverage", "value"] == 0.5
