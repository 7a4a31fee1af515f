"""Quality of the simulator's annotator on notes whose truth its writer knows."""

from collections.abc import Collection, Mapping

from tasks.simulator.annotator import consistency, instructions
from tasks.simulator.annotator.spans import find_spans
from tasks.simulator.truth import Truth

UNSEEN = ("diagnosis_named", "age_or_sex_named")
"""Planted errors of style, which the consistency check does not judge."""


def symptom_f1(notes: Collection[Truth], labels: Mapping[str, str]) -> float:
    """F1 of the symptoms that the annotator finds in notes, against those that the writer marked; NaN without any.

    ``labels``: the annotator's label of each of the writer's symptoms.
    """
    hits, both = 0, 0
    for known in notes:
        marked = {labels[span.symptom] for span in known.spans}
        read = {span.symptom for span in find_spans(known.text)}
        hits, both = hits + len(marked & read), both + len(marked) + len(read)
    return 2 * hits / both if both else float("nan")


def consistency_rates(notes: Mapping[int, Truth], asked: Mapping[int, str]) -> dict[str, float]:
    """Precision and recall of the consistency check on notes with planted errors of content, by record.

    ``asked``: the instructions that the writer of each note was given.
    """
    flagged = right = wrong = 0
    for record, known in notes.items():
        kind = known.error.kind if known.error else None
        if kind in UNSEEN:
            continue
        says = bool(consistency.departures(known.text, instructions.read(asked[record])))
        flagged, wrong, right = flagged + says, wrong + (kind is not None), right + (says and kind is not None)
    nan = float("nan")
    return {"check precision": right / flagged if flagged else nan, "check recall": right / wrong if wrong else nan}
