"""Planted cases have their truth, the judge is put to them, and scores are corrected by its rates."""

import asyncio
import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

from flows.repository.params import load_params
from tasks.domains.rules import rules_of
from tasks.judges.cases import Given, case_verdict, planted_table
from tasks.judges.rates import corrected_rows
from tasks.judges.shortening import compactions, shortened, without
from tasks.judges.simulated_notes import gold_tables, write_gold
from tasks.measures.cases import CASES_OF
from tasks.measures.doclens.evaluators import InstructionEvaluator
from tasks.measures.doclens.planted import (
    OF_PROMPTS,
    judge_planted_citations,
    plant_citations,
    plant_compacted,
    plant_written,
)
from tasks.measures.doclens.planted_claims import EASY, EASY_KINDS, PlantedClaim, plant_claims
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.statistics.misclassification import SHIFTS
from tests.support.cases import each
from tests.support.records import NETWORK
from tests.support.scripted import ScriptedAsk

FLAWS = {
    "blank or mark left": r"  |\s[,.;:](?:\s|$)|,,|\.\.(?!\.)|\(\s|\n\n\n|, *\.|;\s*\.$",
    "double negation": (
        r"\b(?:does|do|is|was|are|were|has|have) not (?:have )?(?:no|not|non-\w+|never|without)\b"
        r"|\b(?:[Dd]enies|[Nn]o|[Ww]ithout) (?:no|not|denies|without)\b"
    ),
    "article": r"\b[Aa] (?=[aeio][a-z]+)(?!one\b|once\b|un[ia]|eu|us)|\b[Aa]n (?=[bcdfgjklmnpqrstvwxz][a-z]{2})",
    "unit without number": (
        r"(?<![\d%.)])(?<![\d%.)] )(?:\bmmHg|\bbpm|\bmcg|°C|°F)(?![\w/])|\bfor (?:hour|day|week|month)s?\b[,.]"
    ),
    "number": (
        r"\b(?:hour|day|week|month|year), \d|\b1 (?:hours|days|weeks|months|years)\b|\bout of (?:1[1-9]|[2-9]\d)\b"
    ),
    "number of the noun": (
        r"\b(?:There|there) (?:is|was) (?:no )?(?:signs|complaints|reports|wheezes|crackles|masses)\b"
    ),
    "verb": r"\bdoes not have \w+ly \w+\b|\bhas not (?:a|an|the)\b|\bmay (?:be|have been) (?:not|no)\b",
    "vital sign": r"\b(?:[Rr]espiratory rate|RR)\W+(?:\w+ )?(?:[1-7]|[4-9]\d)\b(?![/.]\d)",
    "lower case": r"^[a-z]{2}[a-z ]{10}",
}


def flaws(claim: str) -> list[str]:
    """Names of the flaws of a claim."""
    return [name for name, pattern in FLAWS.items() if re.search(pattern, claim)]


RULES = rules_of("respiratory")
SYMPTOMS = tuple(RULES.symptom_labels.values())
NONE = pd.Series(dtype="int64")
WRITTEN, DROPPED = "asked for and written", "dropped by the writer"
MATCHED = {("notes against prompts", "claim_recall"): ("entailment", OF_PROMPTS)}
PARAMS = load_params()
NOTES = {
    "1": "**History**\nThe patient has had a dry cough for 3 weeks. She denies wheezing at night.\n"
    "**Physical Examination**\nTemperature is 38.5 degrees today. Crackles over the right lower lung field.",
    "2": "**History**\nHe reports sneezing and itchy eyes since April. No sputum is brought up.\n"
    "**Physical Examination**\nThroat is mildly red without exudate. Lungs are clear on both sides.",
}

GIVEN = Given(NOTES, PARAMS.model_copy(update={"seed": 1}))


def test_a_hedge_is_planted_only_for_what_the_note_states_once() -> None:
    once = "Cough for a week.\nThere is some effusion of the left knee."
    twice = f"{once}\nKnee: left effusion, some."
    assert "hedged in the note" in {case.kind for case in plant_claims({"a": once}, SYMPTOMS, seed=7)}
    assert "hedged in the note" not in {case.kind for case in plant_claims({"a": twice}, SYMPTOMS, seed=7)}


def test_kinds_that_judges_find_at_a_glance_do_not_outweigh_the_others() -> None:
    cases = [case for case in plant_claims(NOTES, SYMPTOMS, seed=1) if case.kind in EASY_KINDS]
    counts = pd.Series([f"{case.document}/{case.kind}" for case in cases]).value_counts()
    assert counts.max() == 1 and counts.groupby(counts.index.str[0]).sum().max() <= EASY


def test_planted_claims_have_no_flaw_that_their_sentence_has_not() -> None:
    claims = [case for case in plant_claims(first_notes(), SYMPTOMS, seed=7) if case.source and not case.truth]
    flawed = [(case.kind, case.claim) for case in claims if set(flaws(case.claim)) - set(flaws(case.source))]
    assert len(claims) > 300
    assert len(flawed) <= len(claims) / 500, flawed


def test_a_class_does_not_name_the_drug_and_a_plausible_claim_is_not_in_the_note() -> None:
    claims = plant_claims(NOTES, SYMPTOMS, seed=1)
    of_class = [case for case in claims if case.kind == "only the drug's class in the note"]
    assert of_class and all(case.claim.split()[3] not in case.premise.lower() for case in of_class)
    plausible = [case for case in claims if case.kind == "plausible, not in the note"]
    assert len(plausible) == 2 and all(case.claim not in case.premise for case in plausible)


def test_a_note_to_which_a_drug_is_added_does_not_deny_that_the_patient_takes_any() -> None:
    note = "**History**\nCough for a week. The patient takes no regular medication. Allergies: none."
    (added,) = [case for case in plant_claims({"a": note}, SYMPTOMS, seed=1) if case.kind == "drug added"]
    assert added.claim in added.premise and "regular medication" not in added.premise
    assert "Cough for a week." in added.premise and "Allergies: none." in added.premise


def test_a_removed_sentence_leaves_no_blank() -> None:
    assert without("A is here. B is here. C is here.\nD.", ["B is here."]) == "A is here. C is here.\nD."


def test_planted_cases_have_their_truth() -> None:
    claims = plant_claims(NOTES, SYMPTOMS, seed=1)
    kinds = {case.kind for case in claims}
    assert {"own sentence", "negation changed", "other note's sentence", "sentence taken out"} <= kinds
    assert all(case.truth == (case.kind in ("own sentence", "drug added")) for case in claims)
    assert all(case.claim not in case.premise for case in claims if case.kind == "sentence taken out")
    for omission in shortened(NOTES, removed=2, seed=1):
        assert len(omission.removed) == 2
        assert all((omission.facts[at] in omission.summary) == (at not in omission.removed) for at in range(4))


def test_a_failed_citation_names_the_whole_document() -> None:
    cases = plant_citations({"Müller/2": next(iter(NOTES.values()))}, seed=1)
    ask = ScriptedAsk(lambda call: ValueError("refused"))
    rows, unscored = asyncio.run(judge_planted_citations(InstructionEvaluator(ask), cases))
    assert rows and {row["record"] for row in unscored} == {"Müller/2"} == {row["document"] for row in rows}


@cache
def prompts() -> pd.DataFrame:
    return build_prompts(sample(NETWORK, 40, 7), NETWORK, RULES, 7)


@cache
def asked() -> list[PlantedClaim]:
    return plant_written(prompts(), RULES, rounds=3, seed=7)


@cache
def first_notes() -> dict[str, str]:
    written = gold_tables(write_gold(prompts()))[0]
    return dict(zip(written["record"].astype(str), written["note"], strict=True))


def test_errors_of_the_simulated_writer_are_cases_with_known_truth() -> None:
    by_kind = {kind: [case for case in asked() if case.kind == kind] for kind in {case.kind for case in asked()}}
    assert {"asked for and written", "descriptor written", "dropped by the writer"} <= set(by_kind)
    assert "contradicted by the writer" in by_kind
    assert all(case.truth == (case.kind in ("asked for and written", "descriptor written")) for case in asked())
    values = {str(row["record"]): json.loads(row["values"]) for row in prompts().to_dict("records")}
    for case in by_kind["dropped by the writer"]:
        symptom = next((name for name in values[case.document.split("-")[0]] if name in case.claim), None)
        assert symptom is None or symptom not in case.premise.lower()
    assert plant_written(prompts(), RULES, rounds=3, seed=7) == asked()
    part = plant_written(prompts().iloc[:10], RULES, rounds=3, seed=7)
    assert set(part) <= set(asked())  # a record's cases do not depend on other records


def test_sentences_left_out_by_the_compaction_are_omitted() -> None:
    claims = plant_compacted(first_notes(), prompts(), rounds=3, seed=7)
    kinds = ("kept", "left out", "shortened", "detail changed")
    assert {case.kind for case in claims} == {f"{kind} by the writer" for kind in kinds}
    assert all(case.truth == (case.kind in ("kept by the writer", "shortened by the writer")) for case in claims)
    gone = {(case.document, case.claim) for case in claims if case.kind == "left out by the writer"}
    left_out = [one for *_, one in compactions(first_notes(), prompts(), rounds=3, seed=7) if one is not None]
    assert gone == {(one.document, one.facts[at]) for one in left_out for at in one.removed}
    assert gone


def test_failed_lists_are_unscored_not_empty() -> None:
    refusing = ScriptedAsk(lambda _: ValueError("refused"))
    for cases in (one for own in CASES_OF.values() for one in own if one.name in ("subclaims", "facts")):
        assert cases.judge is not None
        rows, unscored = asyncio.run(cases.judge(refusing, cases.make(GIVEN), GIVEN.params))
        assert {row["value"] for row in rows} == {None}
        assert {row["step"] for row in unscored} == {f"planted {cases.name}"}


def of_all(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of item "all" by metric."""
    return rows[rows["item"] == "all"].set_index("metric")


def claims_of_prompts(sensitivity: int, kind: str = WRITTEN) -> pd.DataFrame:
    """50 true claims, of which ``sensitivity`` are found, and 50 dropped ones with 10 false alarms."""
    true = [case_verdict(f"{i}-0", "entailment", kind, "t", True, i < sensitivity) for i in range(50)]
    false = [case_verdict(f"{i}-1", "entailment", DROPPED, "t", False, i < 10) for i in range(50)]
    return planted_table([*true, *false], "rules")


def prompt_recalls(value: float) -> pd.DataFrame:
    keys = {"system": "notes against prompts", "condition": "c", "item": "all", "metric": "claim_recall"}
    return pd.DataFrame([{"document": str(i), **keys, "value": value, "ceiling": 1.0} for i in range(20)])


COPIES = planted_table(
    [case_verdict(str(i), "entailment", "own sentence", "t", True, True) for i in range(500)], "rules"
)


@each(
    "recall, planted, corrected, possible",
    [  # sensitivity 0.9, specificity 0.8
        (0.62, pd.concat([claims_of_prompts(45), COPIES], ignore_index=True), 0.6, 1),
        (0.95, claims_of_prompts(45), 0.75 / 0.7, 0),  # above 1: flagged and not cut
        (0.62, claims_of_prompts(45, "own sentence"), np.nan, 0),  # no matched true claims
        (0.62, claims_of_prompts(45).head(0), np.nan, 0),
    ],
)
def test_scores_are_corrected_by_the_rates_on_matched_cases(
    recall: float, planted: pd.DataFrame, corrected: float, possible: int
) -> None:
    rows = corrected_rows(prompt_recalls(recall), planted, NONE, MATCHED, seed=1, provenance="p")
    found = of_all(rows)["value"]
    assert rows["item"].str.contains("rates off").any() == bool(len(planted))
    assert found["claim_recall"] == pytest.approx(recall)
    assert found["claim_recall_corrected"] == pytest.approx(corrected, nan_ok=True)
    assert found["claim_recall_corrected_possible"] == possible


def test_a_corrected_score_has_its_range_for_other_rates_and_names_another_writer() -> None:
    cases = corrected_rows(
        prompt_recalls(0.62), claims_of_prompts(45), NONE, MATCHED, seed=1, provenance="p", other_writer="writer: m"
    )
    rows = cases[cases["metric"] == "claim_recall_corrected"].set_index("item")
    assert list(rows.index) == ["all", *(f"all, rates off by {shift:g}" for shift in SHIFTS)]
    assert rows["low"].is_monotonic_decreasing and rows["high"].is_monotonic_increasing
    assert rows["value"].nunique() == 1
    assert set(rows["provenance"]) == {"p; rates from cases made by rules, scores of texts of writer: m"}
    assert cases.set_index("metric").loc["claim_recall", "provenance"] == "p"


def test_errors_on_claims_of_one_record_say_less_than_errors_on_as_many_records() -> None:
    def width(documents: list[str]) -> float:
        """Of the corrected value's interval, where the last ten of fifty true claims were not found."""
        true = [case_verdict(one, "entailment", WRITTEN, "t", True, at < 40) for at, one in enumerate(documents)]
        false = [case_verdict(f"{at}-1", "entailment", DROPPED, "t", False, at < 10) for at in range(50)]
        planted = planted_table([*true, *false], "rules")
        rows = of_all(corrected_rows(prompt_recalls(0.62), planted, NONE, MATCHED, seed=1, provenance="p"))
        return float(np.subtract(*rows.loc["claim_recall_corrected", ["high", "low"]]))

    five_records = [f"{at // 10}-{at % 10}" for at in range(50)]
    assert width(five_records) > 1.3 * width([f"{at}-0" for at in range(50)])
