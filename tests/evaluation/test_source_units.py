"""Sources of an evaluation: what is a dialogue, its numbered parts, ids of facts, and lists of defects."""

import pytest
from pydantic import ValidationError

from schemas.errors import SourceError
from tasks.evaluation.documents.defects import SHOWN, Defects
from tasks.evaluation.documents.model import Document
from tasks.evaluation.documents.tables import record_number
from tasks.evaluation.med_omit.dialogues import EndOfHistory, subjective_parts, without_short
from tasks.evaluation.med_omit.fact_ids import fact_id, fact_lines, number_facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Doctor: How are you?\nFine.\nPatient: I cough.", True),
        ("Doctor: How are you?\nFine.", False),  # half of the lines are not most
        ("[doctor] hello\n\n[patient] hi", True),
        ("Doctor: How are you?", False),
        ("Doctor:\nPatient:", False),
    ],
)
def test_most_lines_of_a_dialogue_begin_with_a_speaker(text: str, expected: bool) -> None:
    assert Document("1", (text,)).is_dialogue is expected


def test_units_are_numbered_parts_turns_or_sentences() -> None:
    assert Document("1", ("[0] He  coughs. [1] No\nfever.",)).units == ("He coughs.", "No fever.")
    assert Document("1", (" Doctor: hello.\n\nPatient: I cough. Badly.",)).units == (
        "Doctor: hello.",
        "Patient: I cough. Badly.",
    )
    assert Document("1", ("He coughs. No fever.", "Well.")).units == ("He coughs.", "No fever.", "Well.")
    assert Document("1", ("a", "b")).text == "a\n\nb"


FACTS = number_facts({"medical": ["Has a  cough.", "has a cough.", " "], "other": ["Smokes."]})


def test_facts_are_numbered_without_repeats_and_blanks() -> None:
    assert FACTS == {"F0": ("medical", "Has a cough."), "F1": ("other", "Smokes.")}
    assert fact_lines({"F0": "Has a cough."}) == ["F0: Has a cough."]


TEXTS = {name: text for name, (_, text) in FACTS.items()}


@pytest.mark.parametrize("given", ["F1", "f1", "1", "[F1]", "F1: Smokes.", "smokes", "F1: smokes a pipe"])
def test_a_fact_is_named_in_many_ways(given: str) -> None:
    assert fact_id(given, TEXTS) == "F1"


@pytest.mark.parametrize("given", ["F2", "F0: Smokes.", "F0, F1", "2 packs", "", "cough"])
def test_an_unknown_fact_and_an_id_with_the_text_of_another_are_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"is not the id of a fact; ids are F0, F1"):
        fact_id(given, TEXTS)


def test_many_ids_are_shown_as_a_range() -> None:
    facts = {f"F{n}": f"fact {n}" for n in range(13)}
    with pytest.raises(ValueError, match="ids are F0 to F12"):
        fact_id("F99", facts)
    del facts["F12"]
    with pytest.raises(ValueError, match=r"ids are F0, F1, .*, F11"):
        fact_id("F99", facts)


@pytest.mark.parametrize("count", [1, SHOWN, SHOWN + 1, SHOWN + 3])
def test_defects_are_listed_up_to_a_number_and_the_rest_counted(count: int) -> None:
    found = Defects()
    found.refuse()  # none, no error
    for number in range(count):
        found.add(f"row {number}", "is empty")
    with pytest.raises(SourceError) as error:
        found.refuse()
    lines = str(error.value).split("\n")
    more = count - SHOWN
    assert lines[0] == "row 0: is empty" and len(lines) == min(count, SHOWN) + (more > 0)
    assert (lines[-1] == f"... and {more} more") is (more > 0)


@pytest.mark.parametrize(("line", "good"), [(-1, False), (0, True), (4, True), (5, False)])
def test_the_end_of_the_history_is_a_line_of_the_dialogue(line: int, good: bool) -> None:
    def given() -> EndOfHistory:
        return EndOfHistory.model_validate({"last_line": line}, context={"lines": 5})

    if good:
        assert given().last_line == line
    else:
        with pytest.raises(ValidationError, match="whose lines are 0 to 4"):
            given()
    assert EndOfHistory.model_validate({"last_line": line}).last_line == line


def test_subjective_parts_are_those_of_the_truncated_dialogues() -> None:
    note = "HPI: cough\nPLAN\nrest"
    documents = [Document(name, ("x",), outputs={"a": note, "b": "PLAN\nrest"}) for name in ("1", "2")]
    found = subjective_parts(documents, {"2"})
    assert found == {"a": {"2": "HPI: cough\n"}, "b": {"2": ""}}


def test_dialogues_with_fewer_lines_than_needed_are_excluded_with_their_number() -> None:
    kept, excluded = without_short({"a": "1\n2\n3", "b": "1\n2", "c": "1"}, 2)
    assert kept == {"a": "1\n2\n3", "b": "1\n2"}
    reason = "1: fewer lines up to the end of the history than med_omit.least_lines, 2"
    assert [(row["record"], row["step"], row["reason"]) for row in excluded] == [("c", "truncate", reason)]


def test_a_document_has_the_same_number_in_every_evaluation() -> None:
    assert record_number("d1") == 627467345577822460
    assert record_number("d1") != record_number("d2")
