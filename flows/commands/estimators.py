"""What stages ask for a record, reckoned from their prompt files, for those whose module gives no `estimate` of its
own.

A stage module may define ``estimate(params, records) -> list[Estimate]``; it is preferred to what stands here.
"""

from collections.abc import Callable

from schemas.params import Params
from tasks.llm.estimates import Estimate, template_tokens

Estimator = Callable[[Params, int], list[Estimate]]

NOTE = 240
"""Tokens of a note: the mean of 50 published notes of SimSUM, at four characters a token."""

COMPACT = 125
"""Tokens of a compact note, from the same 50."""

FLAGGED = 0.01
"""Share of notes that the consistency filter has written anew (52 of 10,000 in SimSUM, more with weaker writers)."""


def write(params: Params, records: int) -> list[Estimate]:
    """A prompt and a note a record; the three-note prompts send fewer."""
    prompt = template_tokens("tasks.notes", "note")
    return [Estimate("writer", records, records * prompt, records * NOTE)]


def filter_notes(params: Params, records: int) -> list[Estimate]:
    """A check a note, and a new note and check for those that are flagged."""
    note = template_tokens("tasks.notes", "note")
    check = template_tokens("tasks.notes", "consistency") + note + NOTE
    checks, anew = round(records * (1 + FLAGGED)), round(records * FLAGGED)
    return [
        Estimate("annotator", checks, checks * check, checks * 20),
        Estimate("writer", anew, anew * note, anew * NOTE),
    ]


def compact(params: Params, records: int) -> list[Estimate]:
    """The note's conversation again, and the request for its compact version."""
    prompt = template_tokens("tasks.notes", "note", "compact") + NOTE
    return [Estimate("writer", records, records * prompt, records * COMPACT)]


def span(params: Params, records: int) -> list[Estimate]:
    """Extraction, mapping to the compact note and a second look at it; corrections for some notes."""
    extract = template_tokens("tasks.spans", "extract") + NOTE
    mapping = template_tokens("tasks.spans", "map") + NOTE + COMPACT + 150
    check = mapping + template_tokens("tasks.spans", "same_meaning") + 250
    correct = (template_tokens("tasks.spans", "correct") + NOTE + 60) // 5
    return [Estimate("annotator", round(3.2 * records), records * (extract + mapping + check + correct), records * 450)]


RECKONED: dict[str, Estimator] = {
    "write": write,
    "filter": filter_notes,
    "compact": compact,
    "span": span,
    "spans": span,
}
"""By stage name as in dvc.yaml."""
