"""Parts of a text by its headings: any headings, given ones, and those of a SOAP note."""

import pytest

from tasks.text.headings import OPENING, heading_key, split_at, split_headings
from tasks.text.soap import is_heading, split_soap


@pytest.mark.parametrize(
    "line",
    [
        "## Plan",
        "### 2. **Plan:**",
        "**Plan**",
        "**Plan:**",
        "__Plan__:",
        "2. **Plan**",
        "Plan:",
        "1) Plan:",
        "PLAN",
        "  PLAN:",
    ],
)
def test_a_marked_line_is_a_heading(line: str) -> None:
    assert split_headings(f"Cough.\n{line}\nRest.") == {OPENING: "Cough.", "plan": "Rest."}


@pytest.mark.parametrize("line", ["Plan", "Plan: rest", "the plan:", "PE", "- PLAN B is better"])
def test_any_other_line_is_text(line: str) -> None:
    assert list(split_headings(f"Cough.\n{line}\nRest.")) == [OPENING]


def test_text_may_follow_a_bold_heading_and_parts_of_one_heading_are_joined() -> None:
    parts = split_headings("**Plan:** rest\n\nASSESSMENT & PLAN\nCold.\n**Plan**\nTea.\n## Exam\n")
    assert parts == {"plan": "rest\nTea.", "assessment and plan": "Cold.", "exam": ""}
    assert heading_key("## Assessment & Plan:") == "assessment and plan"
    assert split_headings("") == {} and split_headings("  \n") == {}


def test_given_headings_may_be_followed_by_text_after_a_colon() -> None:
    text = "Seen today.\nHPI: cough\n- **Physical Exam**: clear\nPhysical Exam\nagain\nHPI of the mother\nPlan:\nrest"
    assert split_at(text, ("HPI", "Physical Exam")) == {
        OPENING: "Seen today.",
        "HPI": "cough",
        "Physical Exam": "clear\nagain\nHPI of the mother\nPlan:\nrest",
    }


SOAP = "Ms. Reed\nCC: cough\nPhysical Exam:\nclear\nResults\nx-ray\nImpression: normal\nPLAN\nrest\nHPI late"


def test_a_soap_note_has_each_part_from_its_first_heading_to_the_next() -> None:
    parts = split_soap(SOAP)
    assert list(parts) == ["subjective", "objective_exam", "objective_results", "assessment_and_plan"]
    assert "".join(parts.values()) == SOAP
    assert parts["subjective"] == "Ms. Reed\nCC: cough\n"
    assert parts["objective_results"] == "Results\nx-ray\nImpression: normal\n", "an impression in capitals only"
    assert parts["assessment_and_plan"] == "PLAN\nrest\nHPI late", "the subjective part is open already"


def test_a_part_without_a_heading_is_absent_and_parts_may_come_in_any_order() -> None:
    assert split_soap("PLAN\nrest\nHPI cough") == {"assessment_and_plan": "PLAN\nrest\n", "subjective": "HPI cough"}
    assert split_soap("IMPRESSION\ncold") == {"assessment_and_plan": "IMPRESSION\ncold"}
    assert split_soap("just text") == {"subjective": "just text"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("**SUBJECTIVE**", True),
        ("## Physical Exam", True),
        ("Assessment / Plan:", True),
        ("Plan: rest", False),
        ("HPI late", False),
        ("Planning", False),
        ("Impression", False),
    ],
)
def test_a_heading_alone_on_its_line(line: str, expected: bool) -> None:
    assert is_heading(line) is expected
