"""Two handmade records with extracted phrases, and returned span forms."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.records import SPANS
from tasks.people.span_form import SpanForm, draw_notes
from tests.support.records import span_row
from tests.support.returned import file_of

SYMPTOMS = ("cough", "fever")
NOTES = pd.DataFrame(
    {
        "record": [3, 8],
        "note": ["Dry cough 😷 since May. No fever.\nHis dog coughs.", "He has a fever. All else is well."],
    }
)
COMPACT = pd.DataFrame({"record": [3, 8], "compact": ["Dry cough. T 38.", "Febrile."]})


def _span(record: int, version: str, symptom: str, phrase: str) -> dict[str, object]:
    text = (NOTES if version == "normal" else COMPACT).set_index("record").iloc[:, 0].loc[record]
    return span_row(record, version, symptom, phrase, start=text.index(phrase))


SPAN_TABLE = typed(
    [
        _span(3, "normal", "cough", "Dry cough"),
        _span(3, "normal", "fever", "No fever"),
        _span(3, "normal", "cough", "His dog coughs"),
        _span(3, "compact", "cough", "Dry cough"),
        _span(8, "normal", "fever", "He has a fever"),
    ],
    SPANS,
)


def drawn(count: int = 2) -> pd.DataFrame:
    """The notes on the form."""
    return draw_notes(NOTES, COMPACT, count, seed=1)


FORM = SpanForm(drawn(), SPAN_TABLE, SYMPTOMS)


def checked(
    note: str, *, incorrect: Sequence[int] = (), missing: Sequence[tuple[str, int, int]] = (), **more: Any
) -> dict[str, Any]:
    """A note of a returned file: numbers of wrong phrases, and the symptom, start and end of missing ones."""
    lacking = [dict(zip(("symptom", "start", "end"), place, strict=True)) for place in missing]
    return {"record": note, "incorrect": list(incorrect), "missing": lacking} | more


def returned(*notes: dict, rater: str = "clinician", **changes: object) -> str:
    """A returned file; by default the dog's cough is wrong and two fevers of compact notes are missing."""
    found = notes or (
        checked("3/normal", incorrect=[2]),
        checked("3/compact", missing=[("fever", 11, 15)]),
        checked("8/normal"),
        checked("8/compact", missing=[("fever", 0, 7)]),
    )
    return file_of(FORM, rater, **{"notes": list(found)} | changes)
