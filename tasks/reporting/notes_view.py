"""The notes of the report's browser: text split into segments, each with the symptoms and assertions of its spans."""

import json
from itertools import pairwise
from typing import Any

import pandas as pd


def choose_records(prompts: pd.DataFrame, count: int) -> list[int]:
    """Up to ``count`` record ids, systematically sampled so that each prompt kind has its share."""
    ordered = prompts.sort_values(["kind", "record"])["record"]
    step = max(len(ordered) / count, 1) if count else 1
    return sorted(int(ordered.iloc[int(place * step)]) for place in range(min(count, len(ordered))))


Segment = tuple[str, list[tuple[str, str]]]
"""A text, and symptom and assertion of each span that it belongs to; the assertion is empty where none is stated."""


def segments(note: str, spans: pd.DataFrame) -> list[Segment]:
    """Split ``note`` at span boundaries; overlapping spans give a segment several symptoms."""
    said = spans["assertion"].fillna("")
    marks = list(zip(spans["start"], spans["end"], spans["symptom"], said, strict=True))
    edges = sorted({0, len(note), *(place for start, end, *_ in marks for place in (start, end))})
    return [
        (note[start:end], sorted({(name, what) for first, last, name, what in marks if first <= start and last >= end}))
        for start, end in pairwise(edges)
    ]


def notes_view(
    records: pd.DataFrame,
    prompts: pd.DataFrame,
    attempts: pd.DataFrame,
    notes: pd.DataFrame,
    compact: pd.DataFrame,
    spans: pd.DataFrame,
    count: int,
) -> list[dict[str, Any]]:
    """Contents of the note browser for each chosen record. Text is not escaped here; the page escapes it."""
    chosen = choose_records(prompts, count)
    by_record = {name: frame.set_index("record") for name, frame in [("r", records), ("p", prompts), ("n", notes)]}
    compact_of = compact.set_index("record")["compact"]
    spans = spans[spans["record"].isin(chosen)]
    attempts = attempts[attempts["record"].isin(chosen)]
    return [
        {
            "record": record,
            "kind": by_record["p"].at[record, "kind"],
            "facts": {name: str(value) for name, value in by_record["r"].loc[record].items()},
            "prompt": by_record["p"].at[record, "single_prompt"],
            "descriptors": json.loads(str(by_record["p"].at[record, "descriptors"])),
            "normal": _version(by_record["n"]["note"], spans, record, "normal"),
            "compact": _version(compact_of, spans, record, "compact"),
            "attempts": _earlier_attempts(attempts, record, int(by_record["n"].at[record, "attempt"])),
        }
        for record in chosen
        if record in by_record["n"].index
    ]


def _version(texts: pd.Series, spans: pd.DataFrame, record: int, version: str) -> list[Segment]:
    if record not in texts.index:
        return []
    own = spans[(spans["record"] == record) & (spans["version"] == version)]
    return segments(str(texts.at[record]), own)


def _earlier_attempts(attempts: pd.DataFrame, record: int, kept: int) -> list[dict[str, str]]:
    earlier = attempts[(attempts["record"] == record) & (attempts["attempt"] < kept)].sort_values("attempt")
    explained = earlier["explanation"].fillna("")
    return [{"note": note, "explanation": str(said)} for note, said in zip(earlier["note"], explained, strict=True)]
