"""MED-OMIT's cases and those of people, its figures of summaries over time, and its panel."""

import asyncio

import pandas as pd

from flows.repository.params import load_params
from tasks.judges.shortening import Shortened
from tasks.measures.measure import scores_and_ceilings
from tasks.measures.med_omit.judging import OMISSIONS
from tasks.measures.med_omit.measure import MEASURE, graded_weights, rank_rows
from tasks.measures.med_omit.planted import PART_LEFT_OUT, judge_omissions, part_omissions
from tasks.measures.med_omit.replies import IncludedFact, Omissions
from tests.measures.med_omit_examples import facts_judged
from tests.support.scripted import ScriptedAsk


def test_a_fact_that_the_judge_skips_is_neither_kept_nor_left_out() -> None:
    planted = [Shortened("1", ("He coughs.", "He smokes.", "He sneezes."), frozenset({1}), "He coughs.")]
    verdicts = Omissions(facts=[IncludedFact(fact=name, included="no") for name in ("F1", "F2")])
    rows, unscored = asyncio.run(judge_omissions(ScriptedAsk(lambda _: verdicts), planted, load_params()))
    assert [row["value"] for row in rows] == [None, 1, 1]
    (row,) = unscored
    assert (row["step"], row["reason"]) == ("planted omissions", "1 of 3 facts without a verdict")


def test_the_second_part_of_a_sentence_is_left_out_where_nothing_else_says_it() -> None:
    plain, said = "He sleeps in the afternoon.", "He should avoid milk and cheese."
    clauses = "He was given ibuprofen for pain; his temperature fell below fever level."
    added = "He tolerates most of his usual food, especially milk and cheese."
    notes = {"b": f"{plain} {clauses} {added}", "a": f"{plain} {added}", "c": f"{plain} {said} {added}", "d": plain}
    found = {one.document: (one.facts, one.removed, one.summary, one.kinds) for one in part_omissions(notes)}
    assert list(found) == ["a", "b"]
    shorter = "He tolerates most of his usual food."
    assert found["a"] == ((plain, added), {1}, f"{plain} {shorter}", PART_LEFT_OUT)
    assert found["b"][1:3] == ({1}, f"{plain} He was given ibuprofen for pain. {added}"), "of the first such sentence"


def test_omission_scores_have_their_maximum_as_ceiling() -> None:
    facts = [("1", "F0", 1.0, True), ("1", "F1", 0.5, False), ("2", "F0", None, False)]
    judged = facts_judged(
        {"document": document, "fact": fact, "weight": weight, "omitted": {"s": gone}}
        for document, fact, weight, gone in facts
    )
    found = scores_and_ceilings(judged, OMISSIONS).set_index(["metric", "document"])
    assert found.loc[("omission_share", "1"), ["value", "ceiling"]].tolist() == [0.5, 1.0]
    assert found.loc[("omission_count", "1"), ["value", "ceiling"]].tolist() == [1.0, 2.0]
    assert found.loc[("omission_weight", "1"), ["value", "ceiling"]].tolist() == [1.0, 1.5]
    assert ("omission_weight", "2") not in found.index  # a fact without a grade


def omissions(*weights: float | None, third: object = False) -> pd.DataFrame:
    """VERDICTS on three facts with weights, by default 1, 0.5 and 0.1, in two summaries."""
    facts = [
        {"fact": "F0", "category": "critical", "uniqueness": 0.0, "omitted": {"a": "part", "b": False}},
        {"fact": "F1", "category": "important", "uniqueness": 0.0, "omitted": {"a": third, "b": True}},
        {"fact": "F2", "category": "other", "omitted": {"a": False, "b": True}},
    ]
    return facts_judged({**one, "weight": w} for one, w in zip(facts, weights or (1.0, 0.5, 0.1), strict=True))


def test_an_omission_in_part_counts_by_its_weight() -> None:
    whole = graded_weights(omissions(), 1.0).set_index("system")["value"]
    half = graded_weights(omissions(), 0.5).set_index("system")["value"]
    assert whole.round(9).to_dict() == {"a": 1.0, "b": 0.6}
    assert half.round(9).to_dict() == {"a": 0.5, "b": 0.6}


def test_a_weight_that_depends_on_a_failure_is_unscored() -> None:
    ungraded = graded_weights(omissions(1.0, None, 0.1), 0.5).set_index("system")["value"]
    assert ungraded.isna().to_dict() == {"a": False, "b": True}
    assert graded_weights(omissions(third=None), 0.5)["value"].isna().tolist() == [True, False]


def test_ranks_under_other_weights_agree_or_turn() -> None:
    rows = rank_rows(omissions(), [[1.0, 0.2, 0.05], [0.5, 0.5, 0.5]])
    assert [row["value"] for row in rows] == [1.0, -1.0]


SHOWN = facts_judged(
    {"fact": fact, "text": text, "category": category, "weight": weight, "supports": ["x"], "omitted": omitted}
    for fact, text, category, weight, omitted in [
        ("F0", "Coughs.", "other", 0.9, {"a": False, "b": True}),
        ("F1", "Smokes.", "critical", 0.12345, {"a": True}),
        ("F2", "Old.", None, None, {"a": None}),
        ("F3", "Fever.", "critical", 0.5, {"a": False}),
    ]
)


def test_facts_are_shown_by_importance_and_weight() -> None:
    assert MEASURE.panel is not None
    assert [
        (one.system, one.text, one.verdict, one.section, one.note, one.weight)
        for one in MEASURE.panel.units({"facts": SHOWN})
    ] == [
        ("a", "Fever.", 1, "critical", "supports x", 0.5),
        ("a", "Smokes.", 0, "critical", "supports x", 0.123),
        ("a", "Coughs.", 1, "other", "supports x", 0.9),
        ("b", "Coughs.", 0, "other", "supports x", 0.9),
        ("a", "Old.", None, "", "supports x", None),
    ]
