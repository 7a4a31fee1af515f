"""Annotates both versions of notes with symptom spans: extract, locate, map, locate (SimSUM, Section 2.3)."""

from collections.abc import Mapping, Sequence

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.spans import SPANS
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.spans.extraction import extract_phrases
from tasks.spans.location import locate_phrases
from tasks.spans.mapping import Versions, map_phrases
from tasks.spans.phrases import Located, Phrase
from tasks.text.sections import section_at

_ORDER = ["record", "version", "start", "end", "symptom"]


async def annotate_spans(
    records: pd.DataFrame,
    notes: pd.DataFrame,
    compact_notes: pd.DataFrame,
    labels: Mapping[str, str],
    definitions: Mapping[str, str],
    ask: Ask,
    *,
    max_corrections: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Spans of ``notes`` and ``compact_notes``: (SPANS, UNSCORED).

    ``records`` has a column of values for each symptom: what the writer of the notes knew. ``labels`` maps symptoms to
    their names in prompts, ``definitions`` names to what they cover. A record without a compact note gets spans of its
    normal note only.
    """
    normal = dict(zip(notes["record"].tolist(), notes["note"], strict=True))
    compact = dict(zip(compact_notes["record"].tolist(), compact_notes["compact"], strict=True))
    listed = records.set_index("record").loc[list(normal), list(labels)]
    values: dict[int, dict[str, str]] = {int(str(r)): row for r, row in listed.to_dict("index").items()}
    phrases, failures = await extract_phrases(normal, values, labels, definitions, ask)
    found, more = await locate_phrases(normal, phrases, ask, step="normal", max_corrections=max_corrections)
    failures += more
    asked = [Phrase(one.record, one.symptom, normal[one.record][one.start : one.end]) for one in found]
    asked = [phrase for phrase in asked if phrase.record in compact]
    versions = {record: Versions(normal[record], compact[record]) for record in normal if record in compact}
    mapped, more = await map_phrases(versions, asked, ask)
    failures += more
    placed, more = await locate_phrases(compact, mapped, ask, step="compact", max_corrections=max_corrections)
    return _table(found, normal, placed, compact), unscored_table([*failures, *more])


def spans_table(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Rows as a sorted SPANS table, with the right types also if there are no rows."""
    return typed(rows, SPANS).sort_values(_ORDER, ignore_index=True)


def _span_row(version: str, note: str, one: Located) -> dict[str, object]:
    """One row of SPANS."""
    return {
        "record": one.record,
        "version": version,
        "symptom": one.symptom,
        "start": one.start,
        "end": one.end,
        "text": note[one.start : one.end],
        "section": section_at(note, one.start),
        "matched": one.matched,
    }


def _table(
    found: Sequence[Located], normal: Mapping[int, str], placed: Sequence[Located], compact: Mapping[int, str]
) -> pd.DataFrame:
    rows = [_span_row("normal", normal[one.record], one) for one in found]
    rows += [_span_row("compact", compact[one.record], one) for one in placed]
    return spans_table(rows)
