"""Importance of facts over time: exact against enumeration, 0 for what changes nothing, and a weight of omissions."""

import numpy as np
import pandas as pd
import pytest

from schemas.errors import NetworkError
from tasks.measures.history import metrics
from tasks.measures.history.importance import course_of, fact_importances, omitted_weight, visits_of_fact
from tasks.network.coding import encode
from tasks.network.filtering import predicted
from tasks.network.time import sample_histories
from tasks.network.transitions import Transitions
from tasks.visits.facts import Fact, Visits, Worder, facts_of, history_facts
from tests.support.histories import worder_of
from tests.support.unrolled import TIMED, at_visit, codes_seen, conditional, timed_network, unrolled

SMALL = "_skeleton"


def worded(domain: str) -> tuple[Worder, Transitions]:
    return worder_of(domain), timed_network(domain)[1]


def enumerated(visits: Visits, worder: Worder, transitions: Transitions, unknown: tuple[str, set[int]]) -> np.ndarray:
    """P(course of the visit after ``visits`` | what the notes state), by summing the full joint table."""
    network, rules, (item, numbers) = worder.network, worder.rules, unknown
    stated = [dict(visit) for visit in visits]
    for name in network.variables:
        for visit in stated:
            once, each = name in rules.conditions and visit["visit"] == 1, name in rules.symptoms
            if not (once or each) or (name == item and visit["visit"] in numbers):
                visit[name] = None
    long = unrolled(network, transitions, len(visits) + 1)
    wanted = [at_visit(name, len(visits) + 1) for name in course_of(network, transitions)]
    return conditional(long, codes_seen(network, transitions, stated), wanted)


def test_importance_is_the_distance_of_enumerated_forecasts() -> None:
    worder, transitions = worded(SMALL)
    visits = sample_histories(worder.network, transitions, 12, [1, 2, 3] * 4, 5)
    found = fact_importances(visits, worder, worder.network, transitions).set_index(["patient", "fact"])["importance"]
    checked = 0
    for patient, own in visits.groupby("patient"):
        history = own.to_dict("records")
        for fact in facts_of(history, worder.network, worder.rules, worder.words):
            numbers = visits_of_fact(fact, [visit["day"] for visit in history])
            until = history[: numbers[-1]]
            known, without = (
                enumerated(until, worder, transitions, (fact.item, gone)) for gone in (set(), set(numbers))
            )
            assert found[patient, fact.key] == pytest.approx(np.abs(known - without).sum() / 2, abs=1e-8)
            checked += 1
    assert checked == len(found) > 10 and found.max() > 0.05


@pytest.mark.parametrize("domain", TIMED)
def test_every_fact_of_a_domain_has_an_importance_in_the_order_of_its_facts(domain: str) -> None:
    worder, transitions = worded(domain)
    visits = sample_histories(worder.network, transitions, 4, [1, 3, 4, 5], 9)
    shuffled = visits.sample(frac=1, random_state=1)
    found = fact_importances(shuffled, worder, worder.network, transitions)
    assert found["fact"].tolist() == history_facts(visits, worder)["fact"].tolist()
    assert found["importance"].between(0, 1).all() and found["importance"].nunique() > 5


def test_a_fact_on_which_nothing_later_depends_has_no_importance() -> None:
    worder, transitions = worded("respiratory")
    visits = sample_histories(worder.network, transitions, 6, 4, 9)
    found = fact_importances(visits, worder, worder.network, transitions)
    by_kind = found.groupby("kind")["importance"]
    assert by_kind.max()["decision"] == 0, "days at home follow from symptoms and treatment, which are known"
    assert by_kind.mean()["episode"] > 0.01 and by_kind.min()["treatment"] > 0


def test_an_episode_covers_the_visit_of_its_end_and_other_facts_one_visit() -> None:
    days = [0, 9, 30, 60]
    assert visits_of_fact(Fact("episode", "cough", 9, end=60), days) == (2, 3, 4)
    assert visits_of_fact(Fact("episode", "cough", 30), days) == (3, 4)
    assert visits_of_fact(Fact("level", "fever", 9, "high"), days) == (2,)
    assert visits_of_fact(Fact("trait", "asthma", 0), days) == (1,)


def test_no_visits_have_no_importance_and_impossible_ones_are_named() -> None:
    worder, transitions = worded(SMALL)
    visits = sample_histories(worder.network, transitions, 2, 2, 5)
    assert fact_importances(visits.iloc[:0], worder, worder.network, transitions).empty
    changed = visits.drop(columns=["otitis"]).assign(otitis="no", diabetes=["no", "yes", "no", "yes"])  # a constant
    names = ["diabetes", "earache", "hearing_loss"]
    codes = encode(worder.network, changed, names)
    seen = [{name: values[at::2] for name, values in codes.items()} for at in range(2)]
    with pytest.raises(NetworkError, match="the first 2 visits of a patient are impossible"):
        predicted(worder.network, transitions, seen, ("otitis",))
    far = visits.assign(day=[0, 900, 0, 5])
    with pytest.raises(NetworkError, match="900 days between two visits"):
        fact_importances(far, worder, worder.network, transitions)


FACTS = pd.DataFrame({"patient": [3, 3, 3, 4], "fact": ["b", "a", "c", "a"]})
IMPORTANCES = pd.DataFrame(
    {"patient": [4, 3, 3, 3], "fact": ["a", "a", "b", "c"], "kind": "episode", "importance": [0.4, 0.2, 0.1, 0.05]}
)


def recalled(stated: dict[tuple[str, str], list[bool | None]]) -> pd.DataFrame:
    rows = [
        {"document": document, "system": system, "metric": "claim_recall", "position": at, "judged": value}
        for (document, system), values in stated.items()
        for at, value in enumerate(values)
    ]
    return pd.DataFrame(rows).astype({"judged": "boolean"})


def test_a_summary_is_charged_the_importance_of_the_facts_that_it_omits() -> None:
    found = omitted_weight(
        recalled({("3", "x"): [True, False, False], ("3", "y"): [False, None, True], ("4", "x"): [True]}),
        FACTS,
        IMPORTANCES,
    ).set_index(["document", "system"])["value"]
    assert found["3", "x"] == pytest.approx(0.25), "a and c, by position in the patient's facts"
    assert found["4", "x"] == 0
    assert np.isnan(found["3", "y"]), "a fact without a judgement may be omitted"


def test_ranks_by_the_network_may_turn_those_of_equal_weights() -> None:
    facts = pd.DataFrame({"document": "3", "fact": ["F0", "F1"], "score": [1.0, 0.1], "uniqueness": 0.0,
                          "category": ["critical", "other"]})  # fmt: skip
    omitted = pd.DataFrame(
        {"document": "3", "system": ["x", "x", "y", "y"], "fact": ["F0", "F1"] * 2,
         "omitted": pd.array([True, False, False, True], "boolean"), "extent": "whole"}
    )  # fmt: skip
    judged = recalled({("3", "x"): [True, False, True], ("3", "y"): [False, True, False]})
    made = {"recalled": judged, "omitted": omitted, "facts": facts, "history_facts": FACTS, "importances": IMPORTANCES}
    rows = {row["item"]: row["value"] for row in metrics._rank_stability(made, set(), [])}
    assert rows == {"1, 0.5, 0.1": 1.0, "1 each": -1.0}
