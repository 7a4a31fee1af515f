"""Reads returned span forms, which are untrusted input: wrong and missing phrases of each checked note."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from tasks.evaluation.forms.raters import rater_names
from tasks.evaluation.forms.returned import ReturnedFile, parse_files, require_none, sent_twice
from tasks.evaluation.span_review.form import FORMAT, Span, form_id, note_keys, shown_spans

COLUMNS = ["rater", "record", "version", "symptom", "extracted", "incorrect", "missing"]


class MissingPhrase(BaseModel):
    """A phrase that the annotator did not extract."""

    model_config = ConfigDict(extra="forbid", strict=True)
    symptom: str
    start: int = Field(ge=0)
    end: int = Field(ge=1)


class CheckedNote(BaseModel):
    """What a reader found in one note: numbers of wrong phrases in the form's order, and missing phrases."""

    model_config = ConfigDict(extra="forbid", strict=True)
    record: str  # "record/version"
    incorrect: list[int]
    missing: list[MissingPhrase]


class SpanReview(ReturnedFile):
    """A returned file; notes that the reader has not checked are absent."""

    notes: list[CheckedNote]


def read_span_reviews(
    files: Mapping[str, str], drawn: pd.DataFrame, spans: pd.DataFrame, symptoms: Sequence[str]
) -> pd.DataFrame:
    """Counts of extracted, incorrect and missing phrases by reader, note, version and symptom (COLUMNS).

    ``files`` maps names to texts; ``drawn`` (SPAN_REVIEW_NOTES) and ``spans`` (SPANS) are those of the form. Readers
    who filled in copies of one form are numbered in the order of the files' names. Raises SourceError that lists the
    problems of each file.
    """
    problems: list[str] = []
    given = parse_files(files, SpanReview, "span", problems)
    phrases, sizes = shown_spans(drawn, spans), dict(zip(note_keys(drawn), drawn["text"].str.len(), strict=True))
    expected = form_id(drawn, spans)
    for name, form in given.items():
        problems += [f"{name}: {problem}" for problem in _problems(form, expected, phrases, sizes, symptoms)]
    require_none([*problems, *sent_twice(given)], "span")
    raters = rater_names(form.rater for form in given.values())
    rows = [
        row
        for rater, form in zip(raters, given.values(), strict=True)
        for note in form.notes
        for row in _counts(rater, note, phrases[note.record], symptoms)
    ]
    counted = dict.fromkeys(("record", "extracted", "incorrect", "missing"), "int64")  # also without any row
    return pd.DataFrame(rows, columns=COLUMNS).astype(counted)


def _problems(
    form: SpanReview,
    expected: str,
    phrases: Mapping[str, list[Span]],
    sizes: Mapping[str, int],
    symptoms: Sequence[str],
) -> list[str]:
    if form.format != FORMAT or form.form != expected:
        return [f"is of form {form.form}, expected {expected}"]
    seen = Counter(note.record for note in form.notes)
    problems = [f"note {record} is in the file twice" for record, n in seen.items() if n > 1]
    for note in form.notes:
        if note.record not in phrases:
            problems.append(f"unknown note {note.record}")
        else:
            found = _note_problems(note, phrases[note.record], sizes[note.record], symptoms)
            problems += [f"note {note.record}: {problem}" for problem in found]
    return problems


def _note_problems(note: CheckedNote, extracted: list[Span], size: int, symptoms: Sequence[str]) -> list[str]:
    problems = []
    if len(set(note.incorrect)) < len(note.incorrect) or not set(note.incorrect) <= set(range(len(extracted))):
        problems.append(f"incorrect phrases {note.incorrect}, expected different numbers below {len(extracted)}")
    known = {(span["symptom"], span["start"], span["end"]) for span in extracted}
    for span in note.missing:
        if span.symptom not in symptoms or not span.start < span.end <= size:
            problems.append(f"missing phrase {span.symptom} {span.start}-{span.end} is not a part of the note")
        if (span.symptom, span.start, span.end) in known:
            problems.append(f"phrase {span.symptom} {span.start}-{span.end} is twice in the note's phrases")
        known.add((span.symptom, span.start, span.end))
    return problems


def _counts(rater: str, note: CheckedNote, extracted: list[Span], symptoms: Sequence[str]) -> list[tuple]:
    """One row a symptom."""
    record, _, version = note.record.partition("/")
    total = Counter(span["symptom"] for span in extracted)
    wrong = Counter(extracted[at]["symptom"] for at in note.incorrect)
    missing = Counter(span.symptom for span in note.missing)
    return [(rater, int(record), version, s, total[s], wrong[s], missing[s]) for s in symptoms]
