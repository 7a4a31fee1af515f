"""Calibration: planted truth, the judge's rates, and scores corrected for them."""

import asyncio
import json
import re
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest

from flows.engine.simulated_truth import gold_tables, write_gold
from schemas.tables.evaluation import PLANTED
from schemas.tables.metrics import METRICS
from tasks.domains.rules import load_rules
from tasks.evaluation.calibration.changes import OUTSIDE, change
from tasks.evaluation.calibration.compacted import plant_compacted
from tasks.evaluation.calibration.corrected import corrected_rows
from tasks.evaluation.calibration.graded import graded_pairs
from tasks.evaluation.calibration.judge_rates import rate_rows, rates
from tasks.evaluation.calibration.judging import (
    judge_listing,
    judge_planted,
    judge_planted_omissions,
    planted_table,
)
from tasks.evaluation.calibration.planted import (
    EASY,
    EASY_KINDS,
    PlantedClaim,
    PlantedOmission,
    is_gone,
    plant_claims,
    plant_omissions,
    without,
)
from tasks.evaluation.calibration.subtle import change_detail, subtle_claims
from tasks.evaluation.calibration.written import plant_written
from tasks.evaluation.doclens.evaluators import EmbeddedEvaluator
from tasks.evaluation.doclens.outside import read_aci_bench
from tasks.evaluation.med_omit.metrics import omission_ceilings
from tasks.llm.calls import Answer
from tasks.network.definition import load_definition
from tasks.network.sampling import sample
from tasks.notes.compacting import conversation
from tasks.notes.prompting import build_prompts, system_message
from tests.support.direct import DirectAsk
from tests.support.planted_flaws import new_flaws
from tests.support.sources import needs_sources, sources_folder

NONE = pd.Series(dtype="int64")
COMPACTED = ("left out by the writer", "kept by the writer")
NOTES = {
    "1": "**History**\nThe patient has had a dry cough for 3 weeks. She denies wheezing at night.\n"
    "**Physical Examination**\nTemperature is 38.5 degrees today. Crackles over the right lower lung field.",
    "2": "**History**\nHe reports sneezing and itchy eyes since April. No sputum is brought up.\n"
    "**Physical Examination**\nThroat is mildly red without exudate. Lungs are clear on both sides.",
}


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
        ("negation", "No swelling is seen.", "Swelling is seen."),
        ("negation", "The patient has called in sick.", "The patient has not called in sick."),
        ("negation", "There is a rash.", "There is no rash."),
        ("number", "Power 4/5 in both arms.", None),
        ("number", "Blood pressure is 134/72 mmHg.", None),
        ("side", "The left knee hurts more than the right.", None),
        ("side", "She left work early.", None),
        ("body part", "Throat lozenges give little relief.", None),
    ],
)
def test_scripted_changes(kind: str, claim: str, changed: str | None) -> None:
    assert change(claim, kind, np.random.default_rng(1)) == changed


@pytest.mark.parametrize(
    ("claim", "numbers"),
    [
        ("Takes 5 mg daily.", "10"),  # twice or half, and half only of an even dose
        ("Takes 10 mg daily.", "5 20"),
        ("Respiratory rate is 16.", "12 20 22 24 26 28"),  # at least 4 away
        ("Temperature is 37.2 degrees.", "36.6 38.1 38.9 39.6"),  # at least 0.6 away
        ("Temperature is 35.0 degrees.", "36.6 37.2 38.1 38.9 39.6"),
        ("Temperature is 34.9 degrees.", ""),
        ("Temperature is 41.5 degrees.", "36.6 37.2 38.1 38.9 39.6"),
        ("Temperature is 41.6 degrees.", ""),
        ("Temperature is 98.6°F.", "99.2 100.8 102.1 103.4"),
        ("Temperature is 95.0°F.", "98.1 99.2 100.8 102.1 103.4"),
        ("Temperature is 106.0°F.", "98.1 99.2 100.8 102.1 103.4"),
        ("Temperature is 106.1°F.", ""),
        ("Saturation is 95%.", "88 89 90 91 99"),
        ("Saturation is 85%.", "89 90 91 92 93 94 95 96 97 98 99"),
        ("Saturation is 100%.", "88 89 90 91 92 93 94 95 96"),
        ("Saturation is 84%.", ""),
        ("Cough for 1 day.", ""),  # "day" would have to become "days"
        ("Cough for 2 days.", "4 5 6 7 8"),
        ("Cough for 20 hours.", "2 3 4 5 6 7 8 9 10 11 12 13"),  # no 24 hours, which are a day
        ("Cough for 11 weeks.", "2 3 4 5 6 7"),
        ("Cough for 10 months.", "2 3 4 5 6"),
        ("Smoked for 20 years.", " ".join(map(str, [*range(2, 14), *range(27, 41)]))),
        ("Walks 21 meters.", "15 27"),  # 30% less or more
        ("Walks 200 meters.", "140 260"),
        ("Walks 201 meters.", ""),
    ],
)
def test_another_number_differs_clearly_and_is_possible(claim: str, numbers: str) -> None:
    random = np.random.default_rng(1)
    made = {change(claim, "number", random) for _ in range(250)} - {None}
    found = {re.findall(r"\d+(?:\.\d+)?", str(one))[0] for one in made}
    assert sorted(found, key=float) == numbers.split()


@pytest.mark.parametrize(
    ("kind", "claim", "changed"),
    [
        ("negation", "The area is nontender.", None),  # not "is not nontender"
        ("negation", "Symptoms have likely improved.", None),
        ("negation", "There are no signs of infection.", "There are signs of infection."),
        ("negation", "no cough today.", "cough today."),
        ("negation", "Pain was not used, with little relief.", "Pain was used, with little relief."),
        ("negation", "Ice was used, with little relief.", None),
        ("negation", "No wheezes, no crackles.", "There are wheezes, no crackles."),
        ("side", "The left lung shows more than the left knee.", "The right lung shows more than the left knee."),
        ("body part", "Pain in the knee joint.", None),  # other parts have no such joint
        ("body part", "The knee was painted red.", None),
    ],
)
def test_only_one_change_is_made_and_none_that_reads_badly(kind: str, claim: str, changed: str | None) -> None:
    assert change(claim, kind, np.random.default_rng(1)) == changed


@pytest.mark.parametrize(
    ("sentence", "made"),
    [
        ("Cough for 12 weeks.", {"other unit": "Cough for 12 months."}),
        ("Cough for 13 weeks.", {}),  # much the same as 3 months
        ("Cough for 13 days.", {"other unit": "Cough for 13 weeks."}),
        ("Pain before and after meals.", {}),
        (
            "She reports pain in her knee.",
            {"hedged in the note": "It is possible that she reports pain in her knee."},
        ),
        (
            "She reports fever and gas.",  # words of three letters are too often part of others
            {
                "another person": "The patient's sister reports fever and gas.",
                "in the past": "Five years ago, the patient reported fever and gas.",
                "hedged in the note": "It is possible that she reports fever and gas.",
            },
        ),
        (
            "She denies a cough.",  # "denied a cough" long ago would say little
            {"another person": "The patient's brother denies a cough."},
        ),
        (
            "He has a severe ongoing cough.",
            {
                "another person": "The patient's sister has a severe ongoing cough.",
                "in the past": "Five years ago, the patient had a severe ongoing cough.",
                "other degree": "He has a mild ongoing cough.",
                "hedged in the note": "He probably has a severe ongoing cough.",
                "qualifier taken out": "He has an ongoing cough.",
            },
        ),
        ("mild pain since Monday.", {"other degree": "severe pain since Monday.",
                                     "qualifier taken out": "Pain since Monday."}),
        ("She has rash.", {"another person": "The patient's father has rash.",
                           "in the past": "Five years ago, the patient had rash.",
                           "hedged in the note": "She probably has rash."}),
    ],
)  # fmt: skip
def test_all_graded_changes_of_a_sentence(sentence: str, made: dict[str, str]) -> None:
    pairs = graded_pairs(sentence, sentence)
    assert {kind: claim if premise == sentence else premise for kind, premise, claim in pairs} == made


def test_a_last_item_of_four_letters_is_taken_off_its_list_if_the_rest_of_the_note_lacks_it() -> None:
    sentence = "She reports fever and rash."
    taken = {(premise, claim) for kind, premise, claim in graded_pairs(sentence, sentence) if kind.startswith("partly")}
    assert taken == {("She reports fever.", sentence)}
    note = f"{sentence} Rash on the trunk."
    assert "partly supported" not in {kind for kind, _, _ in graded_pairs(note, sentence)}


@pytest.mark.parametrize(
    ("kind", "claim"),
    [("number", "Cough for 3 weeks."), ("body part", "Pain in the knee."), ("drug", "Takes ibuprofen.")],
)
def test_swaps_always_differ(kind: str, claim: str) -> None:
    made = {change(claim, kind, np.random.default_rng(seed)) for seed in range(30)}
    assert claim not in made
    assert None not in made
    assert len(made) > 1


def test_terms_are_exchanged_within_their_group_and_agree_in_number() -> None:
    feet = {change("Pain in both feet.", "body part", np.random.default_rng(seed)) for seed in range(20)}
    assert feet <= {
        f"Pain in both {part}." for part in ("shoulders", "elbows", "wrists", "hips", "knees", "ankles", "thumbs")
    }
    classes = {change("Takes apixaban.", "drug" + OUTSIDE, np.random.default_rng(seed)) for seed in range(20)}
    assert classes <= {"Takes dabigatran.", "Takes edoxaban.", "Takes rivaroxaban."}
    assert change("Takes Tylenol.", "drug", np.random.default_rng(1)) != "Takes acetaminophen."


@pytest.mark.parametrize(
    ("kind", "sentence", "claim", "premise"),
    [
        ("another person", "She reports a dry cough.", "The patient's mother reports a dry cough.", None),
        ("in the past", "She reports a dry cough.", "Five years ago, the patient reported a dry cough.", None),
        ("other unit", "Cough for 3 weeks.", "Cough for 3 months.", None),
        ("other order", "Pain after meals.", "Pain before meals.", None),
        ("hedged in the note", "There is a rash.", "There is a rash.", "There may be a rash."),
        ("other degree", "There is mild redness of the throat.", "There is severe redness of the throat.", None),
        (
            "partly supported",
            "She reports fever, chills and fatigue.",
            "She reports fever, chills and fatigue.",
            "She reports fever and chills.",
        ),
        ("qualifier taken out", "He has a severe cough.", "He has a severe cough.", "He has a cough."),
    ],
)
def test_graded_changes(kind: str, sentence: str, claim: str, premise: str | None) -> None:
    assert (kind, premise or sentence, claim) in graded_pairs(sentence, sentence)


@pytest.mark.parametrize(
    ("kind", "note", "sentence"),
    [
        ("other degree", "There is mild pain. Yesterday there was severe pain.", "There is mild pain."),
        ("other degree", "No severe pain.", "No severe pain."),
        ("partly supported", "She reports fever and chills. Chills began on Monday.", "She reports fever and chills."),
        ("partly supported", "She reports pain on and off.", "She reports pain on and off."),
        ("qualifier taken out", "There is mild to severe pain.", "There is mild to severe pain."),
        ("other order", "No cough before or since the fall.", "No cough before or since the fall."),
    ],
)
def test_a_change_that_the_note_supports_elsewhere_is_not_planted(kind: str, note: str, sentence: str) -> None:
    assert kind not in {name for name, _, _ in graded_pairs(note, sentence)}


def test_a_hedge_is_planted_only_for_what_the_note_states_once() -> None:
    once = "Cough for a week.\nThere is some effusion of the left knee."
    twice = f"{once}\nKnee: left effusion, some."
    assert "hedged in the note" in {case.kind for case in plant_claims({"a": once}, seed=7)}
    assert "hedged in the note" not in {case.kind for case in plant_claims({"a": twice}, seed=7)}


@pytest.mark.parametrize(
    ("kind", "sentence", "claim"),
    [
        ("quantifier changed", "He coughs, mainly at night.", "He coughs, only at night."),
        ("denial made wider", "She denies any recent travel.", "She denies any travel."),
        ("usual detail added", "He denies fever or fatigue.", "He denies fever, palpitations, or fatigue."),
        (
            "course added",
            "The patient has had a rash for 3 days.",
            "The patient has had a rash for 3 days, getting gradually worse.",
        ),
        ("past given as present", "There is a history of smoking.", "The patient currently smokes."),
    ],
)
def test_subtle_changes(kind: str, sentence: str, claim: str) -> None:
    assert (kind, claim) in subtle_claims(sentence, sentence)


@pytest.mark.parametrize(
    ("kind", "sentence", "elsewhere"),
    [
        ("denial made wider", "She denies any recent travel.", "There was no travel."),
        (
            "usual detail added",
            "He denies fever or fatigue.",
            "No headache, weight loss, sweats, palpitations, vomiting, dizziness or aches.",
        ),
        ("course added", "The patient has had a rash for 3 days.", "It is getting worse."),
        ("past given as present", "There is a history of smoking.", "He quit in 2020."),
    ],
)
def test_a_subtle_change_that_the_note_speaks_of_is_not_planted(kind: str, sentence: str, elsewhere: str) -> None:
    assert kind not in {name for name, _ in subtle_claims(f"{sentence} {elsewhere}", sentence)}


ASTHMA, RASH = "There is a history of asthma.", "Her rash has lasted for 2 weeks."
TWELVE = "She reports one two three four five six seven eight nine ten eleven twelve"


@pytest.mark.parametrize(
    ("sentence", "elsewhere", "made"),
    [
        ("No cough, mainly at night.", "", {}),
        ("There is no history of a severe travel sickness.", "",
         {"denial made wider": "There is no history of travel sickness."}),
        ("Lungs are clear bilaterally.", "",
         {"usual detail added": "Lungs are clear bilaterally, with good air entry."}),
        ("Lungs are clear.", "Breath sounds are vesicular.", {}),
        ("He denies fever, chills, or fatigue.", "",
         {"usual detail added": "He denies fever, weight loss, chills, or fatigue."}),
        ("He denies pain but has fever.", "", {}),
        ("The throat is red.", "", {"usual detail added": "The throat is red, with enlarged tonsils."}),
        ("There is a cough at night.", "", {}),
        ("The patient has had no rash for 3 days.", "", {}),
        ("The patient has had a rash.", "", {}),
        ("The weather was hot for 3 days.", "", {}),
        ("There is no history of smoking.", "", {}),
        ("The patient has pain.", ASTHMA, {"cause invented": "The patient has pain, caused by the asthma."}),
        ("The patient has pain.", f"{ASTHMA} It is related to dust.", {}),
        ("The patient has no pain.", ASTHMA, {}),
        ("The patient has pain with asthma.", ASTHMA, {}),
        ("It is hot.", ASTHMA, {}),
        ("She reports nausea.", RASH, {"time of another finding": "She reports nausea for 2 weeks."}),
        ("She reports nausea.", "No rash for 2 weeks.", {}),
        ("She reports nausea today.", RASH, {}),
        ("She reports no nausea.", RASH, {}),
        ("She reports nausea, as usual.", RASH, {}),
        ("She reports throbbing.", "Her throb has lasted for 2 weeks.", {}),  # of the same finding
        (f"{TWELVE}.", RASH, {"time of another finding": f"{TWELVE} for 2 weeks."}),
        (f"{TWELVE} thirteen.", RASH, {}),  # long sentences seldom stay sentences
    ],
)  # fmt: skip
def test_all_subtle_changes_of_a_sentence(sentence: str, elsewhere: str, made: dict[str, str]) -> None:
    assert dict(subtle_claims(f"{sentence} {elsewhere}".strip(), sentence)) == made


def test_a_detail_of_a_long_claim_is_changed_in_one_of_all_possible_ways() -> None:
    random, sentence = np.random.default_rng(1), "Cough for 3 weeks in the left knee."
    made = {change_detail(sentence, sentence, random) for _ in range(100)}
    others = {f"Cough for {n} weeks in the left knee." for n in range(5, 11)}
    assert made == others | {"Cough for 3 months in the left knee.", "Cough for 3 weeks in the right knee."}
    assert change_detail("Nothing.", "Nothing.", random) is None


def test_a_cause_and_a_time_are_those_of_other_sentences() -> None:
    note = "The patient reports fever. There is a history of asthma. Swallowing has been painful for 3 days."
    found = dict(subtle_claims(note, "The patient reports fever."))
    assert found["cause invented"] == "The patient reports fever, caused by the asthma."
    assert found["time of another finding"] == "The patient reports fever for 3 days."


def test_kinds_that_judges_find_at_a_glance_do_not_outweigh_the_others() -> None:
    cases = [case for case in plant_claims(NOTES, seed=1) if case.kind in EASY_KINDS]
    counts = pd.Series([f"{case.document}/{case.kind}" for case in cases]).value_counts()
    assert counts.max() == 1 and counts.groupby(counts.index.str[0]).sum().max() <= EASY


def test_planted_claims_have_no_flaw_that_their_sentence_has_not(prompts: pd.DataFrame) -> None:
    written = first_notes(prompts)
    notes = dict(zip(written["record"].astype(str), written["note"], strict=True))
    claims = [case for case in plant_claims(notes, seed=7) if case.source and not case.truth]
    assert len(claims) > 300
    flawed = [(case.kind, case.claim) for case in claims if new_flaws(case.claim, case.source)]
    assert len(flawed) <= len(claims) / 500, flawed


@needs_sources
def test_planted_claims_of_published_notes_have_hardly_a_flaw() -> None:
    encounters = read_aci_bench(cast(Path, sources_folder()))
    notes = dict(zip(encounters["encounter"], encounters["note"], strict=True))
    claims = [case for case in plant_claims(notes, seed=7) if case.source and not case.truth]
    flawed = [(case.kind, case.claim) for case in claims if new_flaws(case.claim, case.source)]
    assert len(flawed) <= len(claims) / 200, flawed
    gaps = [case for case in claims if re.search(r" {2}|\n{3}", case.premise) and case.premise != notes[case.document]]
    assert [case for case in gaps if not re.search(r" {2}|\n{3}", notes[case.document])] == []


def test_a_class_does_not_name_the_drug_and_a_plausible_claim_is_not_in_the_note() -> None:
    claims = plant_claims(NOTES, seed=1)
    of_class = [case for case in claims if case.kind == "only the drug's class in the note"]
    assert of_class and all(case.claim.split()[3] not in case.premise.lower() for case in of_class)
    plausible = [case for case in claims if case.kind == "plausible, not in the note"]
    assert len(plausible) == 2 and all(case.claim not in case.premise for case in plausible)


def test_a_note_to_which_a_drug_is_added_does_not_deny_that_the_patient_takes_any() -> None:
    note = "**History**\nCough for a week. The patient takes no regular medication. Allergies: none."
    (added,) = [case for case in plant_claims({"a": note}, seed=1) if case.kind == "drug added"]
    assert added.claim in added.premise and "regular medication" not in added.premise
    assert "Cough for a week." in added.premise and "Allergies: none." in added.premise


def test_a_lost_qualifier_of_a_denied_symptom_loses_nothing() -> None:
    found = graded_pairs("He denies severe pain.", "He denies severe pain.")
    assert "qualifier taken out" not in {kind for kind, _, _ in found}


def test_a_removed_sentence_leaves_no_blank() -> None:
    assert without("A is here. B is here. C is here.\nD.", ["B is here."]) == "A is here. C is here.\nD."


def test_planted_cases_have_their_truth() -> None:
    claims = plant_claims(NOTES, seed=1)
    kinds = {case.kind for case in claims}
    assert {"own sentence", "negation changed", "other note's sentence", "sentence taken out"} <= kinds
    assert all(case.truth == (case.kind in ("own sentence", "drug added")) for case in claims)
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
    assert entailment["specificity"] >= 0.7  # graded changes are hard


@pytest.fixture(scope="module")
def prompts() -> pd.DataFrame:
    definition = load_definition()
    rules = load_rules()
    parents = {symptom: definition.parents(symptom) for symptom in rules.symptoms}
    return build_prompts(sample(definition, 40, 7), parents, rules, 7)


@pytest.fixture(scope="module")
def asked(prompts: pd.DataFrame) -> list[PlantedClaim]:
    return plant_written(prompts, system_message(), rounds=3, seed=7)


@pytest.fixture(scope="module")
def compacted(prompts: pd.DataFrame) -> tuple[list[PlantedClaim], list[PlantedOmission]]:
    return plant_compacted(first_notes(prompts), prompts, conversation, rounds=3, seed=7)


def first_notes(prompts: pd.DataFrame) -> pd.DataFrame:
    return gold_tables(write_gold(prompts))[0]


def test_errors_of_the_simulated_writer_are_cases_with_known_truth(
    prompts: pd.DataFrame, asked: list[PlantedClaim]
) -> None:
    by_kind = {kind: [case for case in asked if case.kind == kind] for kind in {case.kind for case in asked}}
    assert {"asked for and written", "descriptor written", "dropped by the writer"} <= set(by_kind)
    assert "contradicted by the writer" in by_kind
    assert all(case.truth == (case.kind in ("asked for and written", "descriptor written")) for case in asked)
    values = {str(row["record"]): json.loads(row["values"]) for row in prompts.to_dict("records")}
    for case in by_kind["dropped by the writer"]:
        symptom = next((name for name in values[case.document.split("-")[0]] if name in case.claim), None)
        assert symptom is None or symptom not in case.premise.lower()
    assert plant_written(prompts, system_message(), rounds=3, seed=7) == asked
    part = plant_written(prompts.iloc[:10], system_message(), rounds=3, seed=7)
    assert set(part) <= set(asked)  # a record's cases do not depend on other records


def test_a_written_descriptor_is_in_the_note(asked: list[PlantedClaim]) -> None:
    described = [case for case in asked if case.kind == "descriptor written"]
    assert described
    for case in described:  # possibly reworded: "during exercise" as "on exertion", "dry" as "without sputum"
        stems = {word[:5] for word in case.claim.split(": ")[1].lower().rstrip(".").split() if len(word) > 2}
        assert any(stem in case.premise.lower() for stem in stems | {"exert", "effort", "without sputum"}), case.claim


def test_sentences_left_out_by_the_compaction_are_omitted(
    compacted: tuple[list[PlantedClaim], list[PlantedOmission]],
) -> None:
    claims, omissions = compacted
    kinds = {case.kind for case in claims}
    assert kinds == {
        "kept by the writer",
        "left out by the writer",
        "shortened by the writer",
        "detail changed by the writer",
    }
    assert all(case.truth == (case.kind in ("kept by the writer", "shortened by the writer")) for case in claims)
    gone = {(case.document, case.claim) for case in claims if case.kind == "left out by the writer"}
    assert gone == {(one.document, one.facts[at]) for one in omissions for at in one.removed}
    assert gone


def test_changed_details_are_not_in_the_note(compacted: tuple[list[PlantedClaim], list[PlantedOmission]]) -> None:
    changed = [case for case in compacted[0] if case.kind == "detail changed by the writer"]
    assert changed
    assert all(case.claim not in case.premise for case in changed)


def test_judge_is_measured_on_the_errors_planted_by_the_writer(
    asked: list[PlantedClaim], compacted: tuple[list[PlantedClaim], list[PlantedOmission]]
) -> None:
    cases = ([*asked, *compacted[0]], compacted[1])
    planted, unscored = asyncio.run(judge_planted(DirectAsk(), EmbeddedEvaluator(), NOTES, cases, removed=1, seed=1))
    assert unscored == []
    rows = rate_rows(PLANTED.validate(planted), system="judge", seed=1, provenance="rules")
    rightly = rows[rows["metric"] == "judged_rightly"].set_index(["condition", "item"])["value"]
    assert rightly["entailment", "dropped by the writer"] >= 0.7
    assert rightly["omissions", "left out by the writer"] >= 0.6
    assert rightly["omissions", "kept by the writer"] >= 0.8


def test_corrected_omissions_agree_with_what_the_writer_left_out(prompts: pd.DataFrame) -> None:
    notes = first_notes(prompts)
    target = plant_compacted(notes, prompts, conversation, rounds=1, seed=1)[
        1
    ]  # judged texts: other compactions than the planted
    judged, _ = asyncio.run(judge_planted_omissions(DirectAsk(), target, COMPACTED))
    shares = pd.DataFrame(judged, columns=["step", "kind", "document", "text", "truth", "judged"]).astype(
        {"judged": float, "truth": float}
    )
    by_text = shares.groupby("document")[["judged", "truth"]].mean()
    keys = {"system": "compact notes", "condition": "judge", "item": "all", "metric": "omission_share", "ceiling": 1.0}
    scores = by_text.reset_index().rename(columns={"judged": "value"}).assign(**keys)
    cases, _ = asyncio.run(
        judge_planted_omissions(
            DirectAsk(), plant_compacted(notes, prompts, conversation, rounds=1, seed=7)[1], COMPACTED
        )
    )
    found = corrected_rows(scores, planted_table(cases, "rules"), NONE, seed=1, provenance="p").set_index("metric")
    corrected = found.loc["omission_share_corrected"]
    assert corrected["low"] < by_text["truth"].mean() < corrected["high"]
    assert found.loc["omission_share_corrected_identified", "value"] == 1


def test_failed_lists_are_unscored_not_empty() -> None:
    class Refusing:
        label = "refusing"

        async def __call__(self, calls):  # type: ignore[no-untyped-def]
            return [Answer(call.key, failure="refused") for call in calls]

    rows, unscored = asyncio.run(judge_listing(Refusing(), plant_omissions(NOTES, removed=1, seed=1)))
    assert {row[-1] for row in rows} == {None}
    assert {row["step"] for row in unscored} == {"planted subclaims", "planted facts"}


def claims_of_prompts(sensitivity: int, kind: str = "asked for and written") -> pd.DataFrame:
    """50 true claims, of which ``sensitivity`` are found, and 50 dropped ones with 10 false alarms."""
    true = [("entailment", kind, f"{i}-0", "t", True, i < sensitivity) for i in range(50)]
    false = [("entailment", "dropped by the writer", f"{i}-1", "t", False, i < 10) for i in range(50)]
    return planted_table([*true, *false], "rules")


def prompt_recalls(value: float) -> pd.DataFrame:
    keys = {"system": "notes against prompts", "condition": "c", "item": "all", "metric": "claim_recall"}
    return pd.DataFrame([{"document": str(i), **keys, "value": value, "ceiling": 1.0} for i in range(20)])


def test_scores_are_corrected_by_the_rates_on_matched_cases() -> None:
    copies = planted_table([("entailment", "own sentence", str(i), "t", True, True) for i in range(500)], "rules")
    planted = pd.concat([claims_of_prompts(45), copies], ignore_index=True)  # sensitivity 0.9, specificity 0.8
    found = corrected_rows(prompt_recalls(0.62), planted, NONE, seed=1, provenance="p").set_index("metric")["value"]
    assert found["claim_recall"] == pytest.approx(0.62)
    assert found["claim_recall_corrected"] == pytest.approx(0.6)
    assert found["claim_recall_corrected_identified"] == 1


def test_a_corrected_value_above_1_is_flagged_and_not_cut() -> None:
    rows = corrected_rows(prompt_recalls(0.95), claims_of_prompts(45), NONE, seed=1, provenance="p")
    found = rows.set_index("metric")["value"]
    assert found["claim_recall_corrected"] == pytest.approx(0.75 / 0.7)
    assert found["claim_recall_corrected_identified"] == 0


def test_a_score_without_matched_cases_is_not_corrected() -> None:
    rows = corrected_rows(prompt_recalls(0.62), claims_of_prompts(45, "own sentence"), NONE, seed=1, provenance="p")
    found = rows.set_index("metric")["value"]
    assert np.isnan(found["claim_recall_corrected"])
    assert found["claim_recall_corrected_identified"] == 0


def test_omission_scores_have_their_maximum_as_ceiling() -> None:
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


def test_errors_on_claims_of_one_record_say_less_than_errors_on_as_many_records() -> None:
    def width(documents: list[str]) -> float:
        """Of the corrected value's interval, where the last ten of fifty true claims were not found."""
        true = [("entailment", "asked for and written", one, "t", True, at < 40) for at, one in enumerate(documents)]
        false = [("entailment", "dropped by the writer", f"{at}-1", "t", False, at < 10) for at in range(50)]
        planted = planted_table([*true, *false], "rules")
        rows = corrected_rows(prompt_recalls(0.62), planted, NONE, seed=1, provenance="p").set_index("metric")
        return float(np.subtract(*rows.loc["claim_recall_corrected", ["high", "low"]]))

    five_records = [f"{at // 10}-{at % 10}" for at in range(50)]
    assert width(five_records) > 1.3 * width([f"{at}-0" for at in range(50)])


def test_a_sentence_is_gone_if_most_of_its_words_are_and_one_without_words_never_is() -> None:
    assert is_gone("Denies nocturnal wheezing.", "She coughs at night.")
    assert not is_gone("Denies nocturnal wheezing.", "She denies wheezing.")
    assert not is_gone("...", "She coughs.")


def test_the_share_judged_rightly_of_a_kind_leaves_out_and_counts_its_failures() -> None:
    cases = [("entailment", kind, "1", "t", truth, judged) for kind, truth, judged in (
        ("own sentence", True, True), ("own sentence", True, False), ("own sentence", True, None),
        ("side changed", False, False), ("side changed", False, None), ("side changed", False, None),
    )]  # fmt: skip
    rows = rate_rows(planted_table(cases, "p"), system="judge", seed=1, provenance="p")
    kinds = rows[rows["metric"] == "judged_rightly"].set_index("item")
    assert kinds[["value", "n", "unscored"]].values.tolist() == [[0.5, 2, 1], [1, 1, 2]]
    whole = rows[rows["item"] == "all"].set_index("metric")
    assert whole["value"].to_dict() == pytest.approx({"precision": 1, "recall": 0.5, "specificity": 1})
    assert set(whole["n"]) == {3} and set(whole["unscored"]) == {3}
