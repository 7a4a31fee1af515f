"""Asks the writer for texts that cite their input, so that citation scores can be computed for any model.

The texts are compact notes citing sentences of the note, ACI-BENCH notes (whole or by section) citing turns of the
dialogue, short questions citing sentences of the long question, and impressions citing a report's findings. Prompts
have 0, 1 or 2 in-context examples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.evaluation.doclens.citations import number_sentences
from tasks.llm.calls import Ask, Call
from tasks.llm.prompts import render
from tasks.llm.reply_length import tokens_needed
from tasks.llm.unscored import unscored_row
from tasks.text.soap import is_heading

SECTIONS = {
    "subjective": "SUBJECTIVE",
    "objective_exam": "PHYSICAL EXAM",
    "objective_results": "RESULTS",
    "assessment_and_plan": "ASSESSMENT AND PLAN",
}
Unscored = list[dict[str, str | None]]


@dataclass(frozen=True)
class Example:
    """An in-context example: a numbered source and its cited text."""

    source: str
    output: str


async def write_cited(
    ask: Ask, prompt: str, sources: Mapping[str, Sequence[str]], *, examples: Sequence[Example] = (), **fields: str
) -> tuple[dict[str, str], Unscored]:
    """Write one cited text per source (its sentences in order); returns texts by key, and failed calls.

    ``prompt`` is ``cited_compact``, ``cited_note`` (with ``section``: "full" or a heading), ``cited_question`` or
    ``cited_impression``.
    """
    calls = [
        Call(
            f"{key}/{prompt}",
            render(
                "tasks.evaluation.doclens", prompt, source=number_sentences(source), examples=list(examples), **fields
            ),
            least_tokens=tokens_needed(" ".join(source), times=1.5),
        )
        for key, source in sources.items()
    ]
    written: dict[str, str] = {}
    unscored: Unscored = []
    for key, answer in zip(sources, await ask(calls), strict=True):
        if answer.text is not None and answer.ok:
            written[key] = answer.text.strip()
        else:
            unscored.append(unscored_row(key, prompt, answer.failure or "no text", answer.raw))
    return written, unscored


async def write_cited_by_section(
    ask: Ask, sources: Mapping[str, Sequence[str]], *, examples: Sequence[Example] = ()
) -> tuple[dict[str, dict[str, str]], Unscored]:
    """Write ACI-BENCH notes with one call per section; sections without text below their heading are left out.

    The step of an unscored row names the section.
    """
    notes: dict[str, dict[str, str]] = {key: {} for key in sources}
    unscored: Unscored = []
    for part, heading in SECTIONS.items():
        written, failed = await write_cited(ask, "cited_note", sources, examples=examples, section=heading)
        unscored.extend({**row, "step": f"cited_note/{part}"} for row in failed)
        for key, text in written.items():
            if any(line.strip() and not is_heading(line.strip()) for line in text.split("\n")):
                notes[key][part] = text
    return notes, unscored
