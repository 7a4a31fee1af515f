"""Scripted changes make a claim untrue and leave a sentence; what the note supports elsewhere is not changed."""

import re

import numpy as np
import pytest

from tasks.domains.rules import rules_of
from tasks.judges.cases import case_verdict, planted_table
from tasks.judges.edits import OUTSIDE, change, change_detail, graded_pairs, subtle_claims
from tasks.judges.rates import rates
from tasks.judges.shortening import is_gone, statements
from tests.support.cases import each, from_table
from tests.support.counts import check_counts

SYMPTOMS = tuple(rules_of("respiratory").symptom_labels.values())


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


def test_a_statement_is_a_whole_sentence_that_a_note_has_once() -> None:
    note = "Dry cough for two weeks. No rash was seen. No rash was seen.\nNo fever.\nPlan: rest, and fluids at home"
    assert statements(note) == ["Dry cough for two weeks."]


@each(
    "sentence, rest, gone",
    [
        ("Denies nocturnal wheezing.", "She coughs at night.", True),
        ("Denies nocturnal wheezing.", "She denies wheezing.", False),
        ("...", "She coughs.", False),
        ("The patient is afebrile.", "There has been no accompanying fever, coughing, or dyspnea.", False),
        ("The patient is afebrile.", "Vital signs: temperature 36.8°C. Patient alert.", False),
        ("No new cosmetics are reported.", "Make-up or creams are not used.", False),
        ("Denies shortness of breath.", "There is no dyspnea, she denies cough.", False),
    ],
)
def test_a_sentence_is_gone_if_the_rest_has_few_of_its_words_and_none_of_their_meaning(
    sentence: str, rest: str, gone: bool
) -> None:
    assert is_gone(sentence, rest) is gone


def test_a_qualifier_that_the_text_has_in_another_word_is_not_taken_out() -> None:
    note = "The patient has a slight fever. The low-grade fever began slowly. She has a dry cough."
    made = graded_pairs(note, "The low-grade fever began slowly.", ["fever", "cough"])
    assert "qualifier taken out" not in {kind for kind, *_ in made}
    made = graded_pairs(note, "She has a dry cough.", ["fever", "cough"])
    assert "qualifier taken out" in {kind for kind, *_ in made}


def test_the_share_judged_rightly_of_a_kind_leaves_out_and_counts_its_failures() -> None:
    cases = [case_verdict("1", "entailment", kind, "t", truth, judged) for kind, truth, judged in (
        ("own sentence", True, True), ("own sentence", True, False), ("own sentence", True, None),
        ("side changed", False, False), ("side changed", False, None), ("side changed", False, None),
    )]  # fmt: skip
    rows = rates(planted_table(cases, "p"), seed=1, provenance="p")
    kinds = rows[rows["metric"] == "judged_rightly"].set_index("item")
    assert kinds[["value", "n", "unscored"]].values.tolist() == [[0.5, 2, 1], [1, 1, 2]]
    whole = rows[rows["item"] == "all"].set_index("metric")
    found = {"precision_at_half": (1, 3, 3), "sensitivity": (0.5, 2, 1), "specificity": (1, 1, 2)}
    assert {name: tuple(whole.loc[name, ["value", "n", "unscored"]]) for name in found} == found
    ends = whole.loc[[f"{name}_bounds" for name in found], ["low", "high"]].to_numpy()
    assert ends == pytest.approx(np.array([[1 / 3, 1], [1 / 3, 2 / 3], [1 / 3, 1]]), abs=0.02)


def test_missing_verdicts_are_counted_in_every_rate() -> None:
    kinds = {"own sentence": True, "side changed": False, "number changed": False}
    cases = [case_verdict(str(n), "entailment", kind, "t", kinds[kind], n % 5 > 0) for n in range(12) for kind in kinds]
    check_counts(lambda own: rates(own, seed=1, provenance="p"), planted_table(cases, "p"), "value")


def test_rates_do_not_depend_on_the_number_of_notes_per_kind() -> None:
    kinds = ["dropped"] * 10 + ["none"] * 40
    flagged = [True] * 9 + [False] + [True] * 2 + [False] * 38
    cases = [
        case_verdict(str(at), "consistency", kind, "t", kind != "none", one)
        for at, (kind, one) in enumerate(zip(kinds, flagged, strict=True))
    ]
    found = rates(planted_table(cases, "p"), seed=1, provenance="p", of_errors=True)
    rows = found.set_index(["item", "metric"])["value"]
    assert "none" not in found["item"].tolist()
    assert rows["dropped", "sensitivity"] == rows["all", "sensitivity"] == pytest.approx(0.9)
    assert rows["all", "precision_at_half"] == pytest.approx(0.9 / (0.9 + 0.05))
    assert rows["all", "specificity"] == pytest.approx(0.95)


def test_documents_whose_names_have_a_hyphen_are_clusters_of_their_own() -> None:
    cases = [
        case_verdict(f"visit-{n}", "entailment", "own sentence", "t", truth, n % 5 > 0)
        for n in range(20)
        for truth in (True, False)
    ]
    found = rates(planted_table(cases, "p"), seed=1, provenance="p").set_index(["item", "metric"])
    assert found.loc[("all", "sensitivity"), ["low", "high"]].notna().all()
