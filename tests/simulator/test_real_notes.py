"""The annotator on the published notes, which no rule of the writer shaped."""

import asyncio

import pytest

from tasks.domains.rules import load_rules
from tasks.judges.consistency_checks import edit_verdicts
from tasks.judges.rates import verdict_rows
from tasks.judges.span_agreement import RealNote, agreement, f1, read_real_notes, real_notes_file
from tasks.simulator.annotator.spans import find_spans
from tasks.simulator.clinical import findings
from tasks.text.sections import section_at, split_sections
from tests.support.scripted import DirectAsk
from tests.support.sources import needs_sources, sources_folder

pytestmark = needs_sources


@pytest.fixture(scope="module")
def notes() -> list[RealNote]:
    return list(read_real_notes(real_notes_file(sources_folder())))  # type: ignore[arg-type]


def test_sections_and_offsets_hold(notes: list[RealNote]) -> None:
    for note in notes:
        for version, text in note.text.items():
            assert {s.name for s in split_sections(text)} == {"history", "physical_examination"}
            assert all(section_at(text, span.start) != "other" for span in note.spans[version])
            assert all(text[finding.start : finding.end] == finding.text for finding in findings.find(text))


@pytest.mark.parametrize("half", [0, 1])
def test_spans_reach_the_measures(notes: list[RealNote], half: int) -> None:
    chosen = [n for n in notes if n.record % 2 == half]
    own = {n.record: list(find_spans(n.text["normal"])) for n in chosen}
    marked = {n.record: list(n.spans["normal"]) for n in chosen}
    counts = agreement({n.record: n.text["normal"] for n in chosen}, own, marked)  # type: ignore[arg-type]
    assert f1(counts["span_iou_0.5"]) >= 0.7
    assert f1(counts["symptom_in_note"]) >= 0.93


def test_checks_of_consistency_reach_the_measures(notes: list[RealNote]) -> None:
    ask = DirectAsk("vignette-annotator")
    verdicts = asyncio.run(edit_verdicts(notes, load_rules(), ask, seed=7))
    rows = verdict_rows(verdicts, stage="x", system="x", seed=7, provenance="x").set_index(["item", "metric"])["value"]
    assert (verdicts["kind"] != "none").sum() >= 100
    assert rows["all", "sensitivity"] >= 0.95
    assert rows["all", "specificity"] >= 0.95
