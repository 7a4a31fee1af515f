"""The annotator on the published notes, which no rule of the writer shaped."""

import pytest

from tasks.judges.span_agreement import REAL_NOTES, RealNote, SymptomSpan, hits, read_real_notes
from tasks.simulator.reader.findings import find
from tasks.simulator.reader.spans import find_spans
from tasks.text.sections import section_at, split_sections
from tests.support.sources import needs_sources, sources_folder

pytestmark = needs_sources


@pytest.fixture(scope="module")
def notes() -> list[RealNote]:
    return read_real_notes(sources_folder() / REAL_NOTES)


def test_sections_and_offsets_hold(notes: list[RealNote]) -> None:
    for note in notes:
        for version, text in note.text.items():
            assert {s.name for s in split_sections(text)} == {"history", "physical_examination"}
            assert all(section_at(text, span.start) != "other" for span in note.spans[version])
            assert all(finding.start < finding.end <= len(text) for finding in find(text))


@pytest.mark.parametrize("half", [0, 1])
def test_spans_reach_the_measures(notes: list[RealNote], half: int) -> None:
    found = [
        hits(note.text["normal"], [SymptomSpan(*one) for one in spans_of(note.text["normal"])], note.spans["normal"])
        for note in notes
        if note.record % 2 == half
    ]

    def f1(item: str) -> float:
        hit, ours, theirs = (sum(one[item][at] for one in found) for at in range(3))
        return 2 * hit / (ours + theirs)

    assert f1("spans") >= 0.7
    assert f1("symptoms") >= 0.9


def spans_of(note: str) -> list[tuple[str, int, int]]:
    return [(span.symptom, span.start, span.end) for span in find_spans(note)]
