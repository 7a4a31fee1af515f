"""Planted errors occur at the set rates, one kind at a time, and match their description."""

import re
from collections import Counter

import pandas as pd
import pytest

from tasks.judges.simulated_notes import write_gold
from tasks.simulator import dispatch
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import ERROR_KINDS, Truth, compact_truth, truth
from tasks.simulator.writer.compact_version import write_compact
from tasks.simulator.writer.rules import ErrorRates, writer_rates
from tests.simulator.test_writer import NO_ERRORS, prompts, request, symptom_prompt  # noqa: F401

PROMPT = symptom_prompt("cough: yes, dry", "dyspnea: no", "fever: high", avoid=("nasal symptoms", "respiratory pain"))


def planted(kind: str) -> list[Truth]:
    return [truth(request(PROMPT, seed), ErrorRates({kind: 1.0}))[0] for seed in range(40)]


def compact_request(note: str, seed: int) -> ChatRequest:
    turns = (("user", PROMPT), ("assistant", note), ("user", "Task: write the compact version"))
    return ChatRequest("vignette-writer", turns, seed=seed)


def planted_compact(kind: str) -> list[tuple[Truth, Truth]]:
    notes = [truth(request(PROMPT, seed), NO_ERRORS)[0] for seed in range(40)]
    rates = ErrorRates({kind: 1.0})
    return [(note, compact_truth(compact_request(note.text, seed), note, rates)) for seed, note in enumerate(notes)]


def symptoms(known: Truth) -> dict[str, set[bool]]:
    found: dict[str, set[bool]] = {}
    for span in known.spans:
        if span.section == "history":
            found.setdefault(span.symptom, set()).add(span.present)
    return found


def test_default_rates_add_up_to_two_percent_besides_examined_forbidden_symptoms() -> None:
    rates = writer_rates().planted
    assert sum(rate for kind, rate in rates.items() if kind != "forbidden_examined") == pytest.approx(0.02)
    assert set(rates) == {*ERROR_KINDS["normal"], *ERROR_KINDS["compact"]}


def test_calibration_model_reaches_every_kind(prompts: pd.DataFrame) -> None:  # noqa: F811
    notes = write_gold(prompts, "vignette-writer-calibration")
    for version, kinds in ERROR_KINDS.items():
        counts = Counter(t.error.kind for t in notes.version(version).values() if t.error)
        assert set(counts) == set(kinds)
        assert sum(counts.values()) > 0.4 * len(prompts)


@pytest.mark.parametrize("kind", ["symptom_dropped", "contradicted", "descriptor_lost", "forbidden_mentioned"])
def test_an_error_of_content_shows_in_the_spans(kind: str) -> None:
    truly = {"cough": True, "dyspnea": False, "fever": True}
    for known in planted(kind):
        assert known.error and known.error.item
        item, found = known.error.item, symptoms(known)
        if kind == "symptom_dropped":
            assert item not in {span.symptom for span in known.spans}
        elif kind == "contradicted":
            assert found[item] == {not truly[item]}
        elif kind == "descriptor_lost":
            assert item == "cough" and not any("dry" in s.text for s in known.spans if s.symptom == "cough"), known.text
        else:
            assert item in {"nasal", "pain"} & found.keys()


def test_a_forbidden_symptom_is_examined_as_often_as_in_the_published_notes() -> None:
    """3 of 33 published notes with symptoms; and an examined symptom is never left without its label."""
    found = [truth(request(PROMPT, seed))[0] for seed in range(600)]
    assert 0.05 < sum(t.error is not None and t.error.kind == "forbidden_examined" for t in found) / 600 < 0.13
    for known in found:
        assert known.error or {span.symptom for span in known.spans} <= {"cough", "dyspnea", "fever"}, known.text
    for known in planted("forbidden_examined"):
        shown = [s for s in known.spans if known.error and s.symptom == known.error.item]
        assert shown and all(s.section == "physical_examination" and not s.present for s in shown), known.text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("extra_condition", "asthma|smok|copd|pulmonary disease|hay fever"),
        ("diagnosis_named", "pneumonia|cold|bronchitis|infection|influenza|sinusitis|pleurisy"),
        ("age_or_sex_named", "year|woman|man|she|he "),
    ],
)
def test_added_errors_are_at_the_place_given_by_the_truth(kind: str, words: str) -> None:
    for known in planted(kind):
        assert known.error and known.error.start is not None
        assert re.search(words, known.text[known.error.start : known.error.end].lower()), known.text


def test_a_detail_lost_from_the_compact_version_is_a_symptom() -> None:
    for note, known in planted_compact("detail_lost"):
        assert known.error and known.error.kind == "detail_lost"
        assert len(known.spans) < len(note.spans)


def test_a_detail_changed_in_the_compact_version_is_at_the_place_given_by_the_truth() -> None:
    changed = [known for _, known in planted_compact("detail_changed") if known.error is not None]
    assert len(changed) > 20  # of the others the detail was omitted
    for known in changed:
        assert known.error and known.error.start is not None
        assert all(known.text[s.start : s.end] == s.text for s in known.spans)
        assert re.search(r"\d|[LRlr]", known.text[known.error.start : known.error.end])


def test_a_detail_that_is_changed_is_a_side_and_no_verb() -> None:
    note = "**History**\nHe left the room. The left knee hurts."
    asked = (request(f"Task: write the compact version\n\n<note>\n{note}\n</note>", seed) for seed in range(20))
    versions = [write_compact(one, ErrorRates({"detail_changed": 1.0})) for one in asked]
    changed = [version.compact.text for version in versions if version.error is not None]
    assert len(changed) > 10  # others omit the sentence
    assert all("left" in text.partition("room")[0] for text in changed)
    assert all(re.search(r"\b(?:right|R) knee", text, re.IGNORECASE) for text in changed)


def test_truth_of_a_compact_version_is_found_from_the_conversation_alone() -> None:
    asked = compact_request(dispatch.complete(ChatRequest("vignette-writer", (("user", PROMPT),), seed=9)), 9)
    (known,) = truth(asked)
    assert known.text == dispatch.complete(asked) and known.spans


def test_truth_of_another_writers_note_is_refused() -> None:
    with pytest.raises(ValueError, match="pass its truth"):
        truth(compact_request("**History**\nCough.\n\n**Physical Examination**\nClear.", 1))
    with pytest.raises(ValueError, match="unknown writing task"):
        truth(ChatRequest("vignette-writer", (("user", "Task: sing"),)))
