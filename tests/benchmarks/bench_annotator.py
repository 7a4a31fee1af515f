"""Polarity scopes compared with NegEx on findings in the published spans of real notes."""

from collections.abc import Iterator

from tasks.judges.span_agreement import RealNote, read_real_notes, real_notes_file, states
from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tests.benchmarks.comparison import row
from tests.support import negex
from tests.support.sources import sources_folder

VERSIONS = ("normal", "compact")


def benches() -> Iterator[dict]:
    """Share of findings in published spans with the polarity of the span; no row without notes."""
    file = real_notes_file(sources_folder())
    if file is None:
        return
    notes = read_real_notes(file)
    cases = [case for note in notes for version in VERSIONS for case in _cases(note, version)]
    ours = sum((f.polarity == "absent") == denied for _, f, denied in cases) / len(cases)
    theirs = sum(negex.denied(text, [f]) == [denied] for text, f, denied in cases) / len(cases)
    peer = "NegEx (negspacy on spaCy)"
    yield row("annotator: polarity of findings", ours, theirs, peer, "share right", len(cases), more=True)


def _cases(note: RealNote, version: str) -> Iterator[tuple[str, Finding, bool]]:
    """Plain mentions within a published span of their symptom, and whether the span denies the symptom."""
    text = note.text[version]
    for span in note.spans[version]:
        for finding in findings.of(text, span.symptom):
            if finding.kind in ("direct", "lay") and span.start <= finding.start and finding.end <= span.end:
                yield text, finding, states(text, [span])[span.symptom] == "absent"
