import numpy as np
import pytest

from tasks.network.causal import (
    Question,
    adjustment_sets,
    causal_table,
    exact_association,
    exact_effect,
    mean_outcome,
    question_of,
    stratified_effect,
)
from tasks.network.graph import intervene
from tasks.network.sampling import sample
from tests.network.networks import GUT, RESPIRATORY

ANTIBIOTICS = Question("antibiotics", "days_at_home")


def test_exact_effect_is_that_of_the_back_door_formula() -> None:
    # By hand, over the causes that treatment and outcome share, on the exact joint distribution (Pearl 2009, Eq. 3.19).
    from tasks.network.inference import joint

    names = ["dyspnea", "cough", "pain", "fever", "nasal", "self_employed", "antibiotics"]
    p = joint(RESPIRATORY, names)
    rates = RESPIRATORY.rates("days_at_home")  # antibiotics, dyspnea, cough, pain, fever, nasal, self_employed
    effect = (p.sum(axis=-1) * (rates[1] - rates[0])).sum()
    assert exact_effect(RESPIRATORY, ANTIBIOTICS) == pytest.approx(effect, abs=1e-12)


def test_association_is_the_observed_difference() -> None:
    records = sample(RESPIRATORY, 400_000, 6)
    assert mean_outcome(RESPIRATORY, "days_at_home") == pytest.approx(records["days_at_home"].mean(), abs=0.02)
    means = records.groupby("antibiotics")["days_at_home"].mean()
    assert exact_association(RESPIRATORY, ANTIBIOTICS) == pytest.approx(means["yes"] - means["no"], abs=0.02)
    records = sample(GUT, 400_000, 6)
    for outcome, values in (("admission", records["admission"] == "yes"), ("visits", records["visits"])):
        means = values.groupby(records["rehydration"]).mean()
        exact = exact_association(GUT, Question("rehydration", outcome))
        assert exact == pytest.approx(means["given"] - means["withheld"], abs=0.01), outcome


def test_a_treatment_without_an_arrow_to_the_outcome_has_no_effect() -> None:
    question = Question("rehydration", "visits")
    assert exact_effect(GUT, question) == pytest.approx(0, abs=1e-12)
    assert exact_association(GUT, question) > 0.1


def test_pgmpy_finds_the_shared_causes_as_back_door_set() -> None:
    sets = adjustment_sets(RESPIRATORY, ANTIBIOTICS)
    assert sets["minimal back-door set"] == (("dyspnea", "cough", "pain", "fever"), True)
    assert sets["nothing"] == ((), False)
    assert sets["other causes of the outcome"][1] and not sets["record without symptoms"][1]


def test_strata_without_both_arms_are_counted_not_guessed() -> None:
    n = np.array([[[4.0, 4.0], [6.0, 0.0]]])
    s = np.array([[[4.0, 12.0], [60.0, 0.0]]])
    effect, left_out = stratified_effect(n, s)
    assert effect.tolist() == [2.0] and left_out.tolist() == [6.0]


def test_the_exact_effect_on_an_outcome_of_two_values_is_that_of_interventions_on_records() -> None:
    question = Question("rehydration", "admission")
    arms = [sample(intervene(GUT, "rehydration", v), 200_000, 5)["admission"] == "yes" for v in ("given", "withheld")]
    assert exact_effect(GUT, question) == pytest.approx(arms[0].mean() - arms[1].mean(), abs=0.005)


def test_a_network_with_two_outcomes_has_no_question() -> None:
    assert question_of(GUT) is None
    assert causal_table(GUT, sample(GUT, 100, 1), 100, 1).empty
