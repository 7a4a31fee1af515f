"""Scripted changes make a claim untrue and leave a sentence; what the note supports elsewhere is not changed."""

import re

import numpy as np

from tasks.domains.rules import rules_of
from tasks.judges.edits import OUTSIDE, change, change_detail, graded_pairs, subtle_claims
from tests.support.cases import each, from_table

SYMPTOMS = rules_of("respiratory").symptom_labels


@from_table
def test_one_change_is_made_and_none_that_reads_badly(kind: str, claim: str, changed: str | None) -> None:
    assert change(claim, kind, np.random.default_rng(1)) == changed


@from_table
def test_another_number_differs_clearly_and_is_possible(claim: str, numbers: str) -> None:
    random = np.random.default_rng(1)
    made = {change(claim, "number", random) for _ in range(250)} - {None}
    found = {re.findall(r"\d+(?:\.\d+)?", str(one))[0] for one in made}
    assert sorted(found, key=float) == numbers.split()


@each(
    "kind, claim",
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


def graded(sentence: str, note: str) -> dict[str, str]:
    """The changed claim by kind, or the premise where that is changed."""
    pairs = graded_pairs(note, sentence, SYMPTOMS)
    return {kind: claim if premise == note else premise for kind, premise, claim in pairs}


@from_table
def test_all_graded_changes_of_a_sentence(sentence: str, made: dict[str, str]) -> None:
    assert graded(sentence, sentence) == made


@from_table
def test_a_change_that_the_note_supports_elsewhere_is_not_planted(kind: str, note: str, sentence: str) -> None:
    assert kind not in graded(sentence, note)


def test_a_last_item_of_four_letters_is_taken_off_its_list() -> None:
    sentence = "She reports fever and rash."
    assert graded(sentence, sentence)["partly supported"] == "She reports fever."


@from_table
def test_all_subtle_changes_of_a_sentence(sentence: str, elsewhere: str, made: dict[str, str]) -> None:
    assert dict(subtle_claims(f"{sentence} {elsewhere}".strip(), sentence)) == made


def test_a_detail_of_a_long_claim_is_changed_in_one_of_all_possible_ways() -> None:
    random, sentence = np.random.default_rng(1), "Cough for 3 weeks in the left knee."
    made = {change_detail(sentence, sentence, random) for _ in range(100)}
    others = {f"Cough for {n} weeks in the left knee." for n in range(5, 11)}
    assert made == others | {"Cough for 3 months in the left knee.", "Cough for 3 weeks in the right knee."}
    assert change_detail("Nothing.", "Nothing.", random) is None
