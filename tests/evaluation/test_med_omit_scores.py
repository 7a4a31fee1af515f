"""MED-OMIT's formulas on cases small enough to check on paper."""

import math

import pytest

from tasks.evaluation.med_omit.differential_difference import differential_difference
from tasks.evaluation.med_omit.fact_ids import number_facts
from tasks.evaluation.med_omit.fact_score import Cluster, document_score, fact_score, uniqueness

CLUSTERS = (
    Cluster("pneumonia", "supports", "infection", frozenset({"F0", "F1", "F2"})),
    Cluster("pneumonia", "supports", "gas exchange", frozenset({"F3"})),
    Cluster("asthma", "supports", "obstruction", frozenset({"F1", "F3"})),
    Cluster("asthma", "refutes", "not expected", frozenset({"F0", "F2"})),
)


def test_uniqueness_is_one_over_the_subclusters_size() -> None:
    assert uniqueness("F3", CLUSTERS) == [1.0, 0.5]
    assert uniqueness("F0", CLUSTERS) == pytest.approx([1 / 3, 1 / 2])
    assert uniqueness("F9", CLUSTERS) == []


def test_released_variant_adds_one_over_the_number_of_diagnoses() -> None:
    assert uniqueness("F3", CLUSTERS, variant="released") == [1.0, 0.5, 0.5]
    assert uniqueness("F9", CLUSTERS, variant="released") == []


def test_fact_scores_the_larger_of_importance_and_uniqueness() -> None:
    assert fact_score("other", [1 / 3, 1 / 2]) == 0.5
    assert fact_score("important", [1 / 3]) == 0.5
    assert fact_score("critical", [1 / 3]) == 1.0
    assert fact_score("other", []) == 0.1


def test_document_sums_the_omitted_facts() -> None:
    # F0: max(0.1, 1/3, 1/2); F3: max(0.1, 1, 1/2); F9, in no cluster: 0.1
    scores = [fact_score("other", uniqueness(fact, CLUSTERS)) for fact in ("F0", "F3", "F9")]
    assert document_score(scores) == pytest.approx(1.6)


def test_nothing_omitted_scores_nothing() -> None:
    assert document_score([]) == 0


def test_an_omitted_fact_without_a_score_leaves_no_score_for_the_document() -> None:
    assert math.isnan(document_score([0.5, math.nan]))


def test_differentials_differ_by_lost_added_and_shifted_diagnoses() -> None:
    source = {"pneumonia": "probable", "asthma": "possible", "copd": "unlikely"}
    summary = {"pneumonia": "unlikely", "asthma": "possible", "influenza": "possible"}
    found = differential_difference(source, summary)  # type: ignore[arg-type]
    assert found == pytest.approx({"lost": 1 / 3, "added": 1 / 3, "shifted": 0.5})
    assert differential_difference({}, {}) == {"lost": 0.0, "added": 0.0, "shifted": 0.0}


def test_repeated_facts_are_dropped_before_they_are_numbered() -> None:
    lists = {"medical": ["Has a cough.", "has a  cough."], "access_and_social": ["Smokes."], "other": ["Has a cough."]}
    assert number_facts(lists) == {"F0": ("medical", "Has a cough."), "F1": ("access_and_social", "Smokes.")}
