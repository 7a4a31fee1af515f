"""Calibration: planted truth, the judge's rates, and scores corrected for them."""

import asyncio
import json

import numpy as np
import pandas as pd
import pytest

from schemas.tables.evaluation import PLANTED
from schemas.tables.metrics import METRICS
from tasks.evaluation.calibration.changes import change
from tasks.evaluation.calibration.corrected import corrected_rows
from tasks.evaluation.calibration.judge_rates import rate_rows, rates
from tasks.evaluation.calibration.judging import judge_listing, judge_planted, planted_table
from tasks.evaluation.calibration.planted import plant_claims, plant_omissions
from tasks.evaluation.calibration.prevalence import corrected_interval, corrected_share
from tasks.evaluation.calibration.written import plant_written
from tasks.evaluation.doclens.evaluators import EmbeddedEvaluator
from tasks.evaluation.med_omit.metrics import omission_ceilings
from tasks.llm.calls import Answer
from tasks.network.definition import load_definition
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts, system_message
from tasks.notes.rules import load_rules
from tests.support.direct import DirectAsk

NOTES = {
    "1": "**History**\nThe patient has had a dry cough for 3 weeks. She denies wheezing at night.\n"
    "**Physical Examination**\nTemperature is 38.5 degrees today. Crackles over the right lower lung field.",
    "2": "**History**\nHe reports sneezing and itchy eyes since April. No sputum is brought up.\n"
    "**Physical Examination**\nThroat is mildly red without exudate. Lungs are clear on both sides.",
}


def test_correction_undoes_known_error_rates() -> None:
    # Of 60% true, a judge of sensitivity 0.9 and specificity 0.8 says 0.6 * 0.9 + 0.4 * 0.2 = 0.62.
    assert corrected_share(0.62, 0.9, 0.8) == pytest.approx(0.6)
    assert corrected_share(0.5, 1, 1) == 0.5


def test_correction_stays_within_0_and_1_and_refuses_a_judge_that_tells_nothing() -> None:
    assert corrected_share(0.95, 0.9, 0.8) == 1.0
    assert corrected_share(0.1, 0.9, 0.8) == 0.0
    assert np.isnan(corrected_share(0.5, 0.5, 0.5))


def test_interval_grows_with_what_is_not_known_of_the_judge() -> None:
    scores = [0.62] * 50
    sure = corrected_interval(scores, [True] * 900 + [False] * 100, [True] * 200 + [False] * 800, seed=1)
    unsure = corrected_interval(scores, [True] * 9 + [False], [True] * 2 + [False] * 8, seed=1)
    assert sure.value == pytest.approx(unsure.value) == pytest.approx(0.6)
    assert sure.low < 0.6 < sure.high
    assert unsure.high - unsure.low > 3 * (sure.high - sure.low)
    assert np.isnan(corrected_interval(scores, [], [True], seed=1).value)


def test_corrected_estimate_covers_the_truth() -> None:
    random, covered = np.random.default_rng(3), 0
    for trial in range(60):
        truth = random.random(200) < 0.6
        said = np.where(truth, random.random(200) < 0.9, random.random(200) < 0.2)
        truly, falsely = random.random(100) < 0.9, random.random(100) < 0.2
        found = corrected_interval(said.astype(float).tolist(), truly.tolist(), falsely.tolist(), seed=trial, draws=300)
        covered += found.low <= 0.6 <= found.high
    assert covered >= 52


def test_rates_of_a_small_table() -> None:
    truth, judged = np.array([1, 1, 1, 0, 0], dtype=bool), np.array([1, 1, 0, 1, 0], dtype=bool)
    assert rates(truth, judged) == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "specificity": 1 / 2})
    assert np.isnan(rates(truth[:3], judged[:3])["specificity"])


@pytest.mark.parametrize(
    ("kind", "claim", "changed"),
    [
        ("negation", "The patient denies fever.", "The patient reports fever."),
        ("negation", "There is no effusion.", "There is effusion."),
        ("negation", "The patient has a cough.", "The patient does not have a cough."),
        ("side", "Pain in the left knee.", "Pain in the right knee."),
        ("side", "Pain in the knee.", None),
        ("number", "No fever.", None),
        ("drug", "No fever.", None),
    ],
)
def test_scripted_changes(kind: str, claim: str, changed: str | None) -> None:
    assert change(claim, kind, np.random.default_rng(1)) == changed


@pytest.mark.parametrize(
    ("kind", "claim"), [("number", "Cough for 3 weeks."), ("body part", "Knee pain."), ("drug", "Takes aspirin.")]
)
def test_swaps_always_differ(kind: str, claim: str) -> None:
    made = {change(claim, kind, np.random.default_rng(seed)) for seed in range(30)}
    assert claim not in made
    assert None not in made
    assert len(made) > 1


def test_planted_cases_know_their_truth() -> None:
    claims = plant_claims(NOTES, seed=1)
    kinds = {case.kind for case in claims}
    assert {"own sentence", "negation changed", "other note's sentence", "sentence taken out"} <= kinds
    assert all(case.truth == (case.kind in ("own sentence", "own sentence reworded")) for case in claims)
    assert all(case.claim not in case.premise for case in claims if case.kind == "sentence taken out")
    for omission in plant_omissions(NOTES, removed=2, seed=1):
        assert len(omission.removed) == 2
        assert all((omission.facts[at] in omission.summary) == (at not in omission.removed) for at in range(4))


def test_judge_is_put_through_every_step_and_scored() -> None:
    planted, unscored = asyncio.run(judge_planted(DirectAsk(), EmbeddedEvaluator(), NOTES, removed=1, seed=1))
    assert unscored == []
    PLANTED.validate(planted)
    assert set(planted["step"]) == {
        "entailment",
        "omissions",
        "citation recall",
        "citation precision",
        "facts",
        "subclaims",
    }
    rows = METRICS.validate(rate_rows(planted, system="judge", seed=1, provenance="rules"))
    entailment = rows[(rows["condition"] == "entailment") & (rows["item"] == "all")].set_index("metric")["value"]
    assert entailment["recall"] >= 0.9
    assert entailment["specificity"] >= 0.8


@pytest.fixture(scope="module")
def written():
    definition = load_definition()
    rules = load_rules()
    parents = {symptom: definition.parents(symptom) for symptom in rules.symptoms}
    prompts = build_prompts(sample(definition, 40, 7), parents, rules, 7)
    return prompts, plant_written(prompts, system_message(), rounds=3, seed=7)


def test_errors_of_the_embedded_writer_are_cases_with_known_truth(written) -> None:
    prompts, (claims, omissions) = written
    by_kind = {kind: [case for case in claims if case.kind == kind] for kind in {case.kind for case in claims}}
    assert {"asked for and written", "dropped by the writer", "contradicted by the writer"} <= set(by_kind)
    assert all(case.truth == (case.kind == "asked for and written") for case in claims)
    values = {str(row["record"]): json.loads(row["values"]) for row in prompts.to_dict("records")}
    for case in by_kind["dropped by the writer"]:
        symptom = next((name for name in values[case.document.split("-")[0]] if name in case.claim), None)
        assert symptom is None or symptom not in case.premise.lower()
    assert omissions
    assert all(0 < len(one.removed) <= len(one.facts) for one in omissions)
    again = plant_written(prompts, system_message(), rounds=3, seed=7)
    assert again == (claims, omissions)
    part = plant_written(prompts.iloc[:10], system_message(), rounds=3, seed=7)
    assert set(part[0]) <= set(claims)  # a record's cases hang on no other record


def test_judge_is_measured_on_what_the_writer_planted(written) -> None:
    planted, unscored = asyncio.run(
        judge_planted(DirectAsk(), EmbeddedEvaluator(), NOTES, written[1], removed=1, seed=1)
    )
    assert unscored == []
    rows = rate_rows(PLANTED.validate(planted), system="judge", seed=1, provenance="rules")
    rightly = rows[rows["metric"] == "judged_rightly"].set_index("item")["value"]
    assert rightly["dropped by the writer"] >= 0.7
    assert rightly["left out by the writer"] >= 0.7


def test_failed_lists_are_unscored_not_empty() -> None:
    class Refusing:
        label = "refusing"

        async def __call__(self, calls):  # type: ignore[no-untyped-def]
            return [Answer(call.key, failure="refused") for call in calls]

    rows, unscored = asyncio.run(judge_listing(Refusing(), plant_omissions(NOTES, removed=1, seed=1)))
    assert {row[-1] for row in rows} == {None}
    assert {row["step"] for row in unscored} == {"planted subclaims", "planted facts"}


def test_corrected_rows_stand_beside_the_raw_ones() -> None:
    rows = [("entailment", "k", str(i), "t", i < 50, i < 45 or 50 <= i < 60) for i in range(100)]
    planted = planted_table(rows, "rules")  # sensitivity 0.9, specificity 0.8
    keys = {"system": "s", "condition": "c", "item": "all", "metric": "claim_recall", "ceiling": 1.0}
    scores = pd.DataFrame([{"document": str(i), **keys, "value": 0.62} for i in range(20)])
    found = corrected_rows(scores, planted, seed=1, provenance="p").set_index("metric")["value"]
    assert found["claim_recall"] == pytest.approx(0.62)
    assert found["claim_recall_corrected"] == pytest.approx(0.6)


def test_a_weight_is_corrected_below_the_weight_of_all_facts() -> None:
    # Of 4 facts with weights summing to 2 the truth is 1: found are 0.9 * 1 + 0.2 * (2 - 1) = 1.1 by rates 0.9 and 0.8.
    truly, falsely = [True] * 9 + [False], [False] * 8 + [True] * 2
    found = corrected_interval([1.1, 1.1], truly, falsely, ceilings=[2.0, 2.0], seed=1)
    assert found.value == pytest.approx(1.0)
    assert 0 <= found.low < 1 < found.high <= 2
    assert np.isnan(corrected_interval([0.0], truly, falsely, ceilings=[0.0], seed=1).value)


def test_omissions_come_with_what_they_would_be_were_every_fact_omitted() -> None:
    facts = pd.DataFrame({"document": ["1", "1", "2"], "fact": ["F0", "F1", "F0"], "score": [1.0, 0.5, np.nan]})
    omitted = facts[["document", "fact"]].assign(system="s", omitted=pd.array([True, False, False], dtype="boolean"))
    found = omission_ceilings(facts, omitted).set_index(["metric", "document"])
    assert found.loc[("omission_share", "1"), ["value", "ceiling"]].tolist() == [0.5, 1.0]
    assert found.loc[("omission_count", "1"), ["value", "ceiling"]].tolist() == [1.0, 2.0]
    assert found.loc[("omission_weight", "1"), ["value", "ceiling"]].tolist() == [1.0, 1.5]
    assert ("omission_weight", "2") not in found.index  # a fact without a grade


def test_failed_judgements_are_no_part_of_the_rates() -> None:
    planted = planted_table([("entailment", "k", "1", "t", True, None), ("entailment", "k", "2", "t", True, True)], "p")
    rows = rate_rows(planted, system="judge", seed=1, provenance="p")
    recall = rows[(rows["item"] == "all") & (rows["metric"] == "recall")].iloc[0]
    assert (recall["value"], recall["n"], recall["unscored"]) == (1.0, 1, 1)
