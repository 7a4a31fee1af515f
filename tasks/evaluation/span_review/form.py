"""The form in which a reader marks wrong and missing phrases of sampled notes (SimSUM, Section 2.3)."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from schemas.tables.columns import NOTE_VERSIONS, typed
from schemas.tables.span_review import SPAN_REVIEW_NOTES
from tasks.evaluation.forms.page import render_page
from tasks.statistics.sampling import sample_records

FORMAT = "vignette-spans"
Span = dict[str, Any]
"""A phrase: symptom, start and end (characters into the note, end exclusive)."""


def draw_notes(notes: pd.DataFrame, compact: pd.DataFrame, count: int, *, seed: int) -> pd.DataFrame:
    """Both versions (columns note and compact) of ``count`` random records, as SPAN_REVIEW_NOTES."""
    both = notes.merge(compact[["record", "compact"]], on="record")
    chosen = both[both["record"].isin(sample_records(both["record"], count, seed=seed))]
    texts = {"normal": chosen["note"], "compact": chosen["compact"]}
    parts = [pd.DataFrame({"record": chosen["record"], "version": v, "text": texts[v]}) for v in NOTE_VERSIONS]
    drawn = pd.concat(parts).sort_values(["record", "version"], ascending=[True, False], ignore_index=True)
    return typed(drawn, SPAN_REVIEW_NOTES)


def shown_spans(drawn: pd.DataFrame, spans: pd.DataFrame) -> dict[str, list[Span]]:
    """The extracted phrases (SPANS) of each drawn note, by "record/version", in order of their places."""
    ordered = spans.sort_values(["start", "end", "symptom"])
    found: dict[str, list[Span]] = {key: [] for key in note_keys(drawn)}
    for row in ordered[ordered["record"].isin(drawn["record"])].itertuples():
        found[f"{row.record}/{row.version}"].append(
            {"symptom": row.symptom, "start": int(row.start), "end": int(row.end)}
        )
    return found


def note_keys(drawn: pd.DataFrame) -> list[str]:
    """The ids of the drawn notes on the form: "record/version"."""
    return [f"{row.record}/{row.version}" for row in drawn.itertuples()]


def form_id(drawn: pd.DataFrame, spans: pd.DataFrame) -> str:
    """Hash of a form's notes and phrases: a file returned for another form is refused."""
    content = json.dumps([drawn["text"].tolist(), shown_spans(drawn, spans)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def render_span_form(
    drawn: pd.DataFrame, spans: pd.DataFrame, symptoms: Sequence[str], labels: Mapping[str, str], rater: str
) -> str:
    """HTML of the form for the drawn notes (SPAN_REVIEW_NOTES) and their phrases (SPANS)."""
    phrases = shown_spans(drawn, spans)
    items = [
        {"record": key, "text": text, "spans": phrases[key]}
        for key, text in zip(note_keys(drawn), drawn["text"], strict=True)
    ]
    data = {
        "format": FORMAT,
        "form": form_id(drawn, spans),
        "rater": rater,
        "noun": "note",
        "items": items,
        "symptoms": [{"name": name, "label": labels.get(name, name)} for name in symptoms],
    }
    return render_page("Checking extracted phrases", "spans.js", data)
