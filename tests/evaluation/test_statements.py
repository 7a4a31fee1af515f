"""Statements of a cited text leave its headings out."""

import pytest

from tasks.evaluation.doclens.citations import read_statements


@pytest.mark.parametrize(
    "heading", ["## On the way home", "**On the way home**", "ON THE WAY HOME", "On the way home:"]
)
def test_a_marked_line_without_citation_is_a_heading(heading: str) -> None:
    assert [statement.text for statement in read_statements(f"{heading}\nThe knee hurts [1].")] == ["The knee hurts."]


def test_a_line_with_marked_words_or_a_citation_is_a_statement() -> None:
    found = read_statements("The **left** knee hurts [1].\n**Knee pain** [2]")
    assert [(statement.text, statement.citations) for statement in found] == [
        ("The **left** knee hurts.", (1,)),
        ("**Knee pain**", (2,)),
    ]
