"""Planted errors occur at the set rates, one kind at a time, and match their description."""

from collections import Counter

import pandas as pd
import pytest

from flows.engine.simulated_truth import write_gold
from tasks.simulator import dispatch
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import ERROR_KINDS, Truth, compact_truth, truth
from tasks.simulator.writer.rates import ErrorRates, writer_rates
from tests.simulator.test_writer import prompts, request, symptom_prompt  # noqa: F401

PROMPT = symptom_prompt("cough: yes, dry", "dyspnea: no", "fever: high", avoid=("nasal symptoms", "respiratory pain"))


def planted(kind: str, seeds: range = range(40)) -> list[Truth]:
    return [truth(request(PROMPT, seed), ErrorRates({kind: 1.0}))[0] for seed in seeds]


def symptoms(known: Truth) -> dict[str, set[bool]]:
    found: dict[str, set[bool]] = {}
    for span in known.spans:
        if span.section == "history":
            found.setdefault(span.symptom, set()).add(span.present)
    return found


def test_default_rates_add_up_to_two_percent_besides_examined_forbidden_symptoms() -> None:
    others = {kind: rate for kind, rate in writer_rates().planted.probabilities.items() if kind != "forbidden_examined"}
    assert sum(others.values()) == pytest.approx(0.02)
    assert set(writer_rates().planted.probabilities) == {*ERROR_KINDS["normal"], *ERROR_KINDS["compact"]}


def test_calibration_model_reaches_every_kind(prompts: pd.DataFrame) -> None:  # noqa: F811
    notes = write_gold(prompts, "vignette-writer-calibration")
    for version, kinds in ERROR_KINDS.items():
        counts = Counter(t.error.kind for t in notes.version(version).values() if t.error)
        assert set(counts) == set(kinds)
        assert sum(counts.values()) > 0.4 * len(prompts)


def test_a_dropped_symptom_is_not_mentioned() -> None:
    for known in planted("symptom_dropped"):
        assert known.error and known.error.item not in {span.symptom for span in known.spans}


def test_a_contradicted_symptom_has_the_other_polarity() -> None:
    truly = {"cough": True, "dyspnea": False, "fever": True}
    for known in planted("contradicted"):
        assert known.error and known.error.item
        assert symptoms(known)[known.error.item] == {not truly[known.error.item]}


def test_a_lost_descriptor_is_in_no_span_of_the_symptom() -> None:
    for known in planted("descriptor_lost"):
        assert known.error and known.error.item == "cough"
        assert not any("dry" in span.text for span in known.spans if span.symptom == "cough"), known.text


def test_a_forbidden_symptom_is_named_in_the_history() -> None:
    for known in planted("forbidden_mentioned"):
        assert known.error and known.error.item in {"nasal", "pain"}
        assert known.error.item in symptoms(known)


def test_a_forbidden_symptom_is_examined_as_often_as_in_the_published_notes() -> None:
    """3 of 33 published notes with symptoms; and an examined symptom is never left without its label."""
    found = [truth(request(PROMPT, seed))[0] for seed in range(600)]
    assert 0.05 < sum(t.error is not None and t.error.kind == "forbidden_examined" for t in found) / 600 < 0.13
    for known in found:
        asked = {"cough", "dyspnea", "fever"}
        assert known.error or {span.symptom for span in known.spans} <= asked, known.text
    for known in planted("forbidden_examined"):
        shown = [s for s in known.spans if known.error and s.symptom == known.error.item]
        assert shown and all(s.section == "physical_examination" and not s.present for s in shown), known.text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("extra_condition", ("asthma", "smok", "copd", "pulmonary disease", "hay fever")),
        ("diagnosis_named", ("pneumonia", "cold", "bronchitis", "infection", "influenza", "sinusitis", "pleurisy")),
        ("age_or_sex_named", ("year", "woman", "man", "she", "he ")),
    ],
)
def test_added_errors_are_at_the_place_given_by_the_truth(kind: str, words: tuple[str, ...]) -> None:
    for known in planted(kind):
        assert known.error and known.error.start is not None
        shown = known.text[known.error.start : known.error.end].lower()
        assert any(word in shown for word in words), shown


def compact_request(note: str, seed: int) -> ChatRequest:
    turns = (("user", PROMPT), ("assistant", note), ("user", "Task: write the compact version"))
    return ChatRequest("vignette-writer", turns, seed=seed)


def test_a_detail_lost_from_the_compact_version_is_a_symptom() -> None:
    for seed in range(40):
        note = truth(request(PROMPT, seed), ErrorRates({}))[0]
        known = compact_truth(compact_request(note.text, seed), note, ErrorRates({"detail_lost": 1.0}))
        assert known.error and known.error.kind == "detail_lost"
        assert len(known.spans) < len(note.spans)


def test_a_detail_changed_in_the_compact_version_is_at_the_place_given_by_the_truth() -> None:
    found = 0
    for seed in range(40):
        note = truth(request(PROMPT, seed), ErrorRates({}))[0]
        asked = compact_request(note.text, seed)
        known = compact_truth(asked, note, ErrorRates({"detail_changed": 1.0}))
        if known.error is None:
            continue
        found += 1
        assert known.error.start is not None
        assert all(known.text[s.start : s.end] == s.text for s in known.spans)
        assert any(c.isdigit() or c in "LRlr" for c in known.text[known.error.start : known.error.end])
    assert found > 20


def test_truth_of_a_compact_version_is_found_from_the_conversation_alone() -> None:
    first = ChatRequest("vignette-writer", (("user", PROMPT),), seed=9)
    asked = compact_request(dispatch.complete(first), 9)
    (known,) = truth(asked)
    assert known.text == dispatch.complete(asked)
    assert known.spans


def test_truth_of_another_writers_note_is_refused() -> None:
    with pytest.raises(ValueError, match="pass its truth"):
        truth(compact_request("**History**\nCough.\n\n**Physical Examination**\nClear.", 1))
    with pytest.raises(ValueError, match="unknown writing task"):
        truth(ChatRequest("vignette-writer", (("user", "Task: sing"),)))
