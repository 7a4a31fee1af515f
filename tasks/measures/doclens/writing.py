"""Asks the writer for texts that cite their input, so that citation scores can be computed for any model.

The texts are compact notes citing sentences of the note, ACI-BENCH notes (whole or by section) citing turns of the
dialogue, short questions citing sentences of the long question, and impressions citing a report's findings. Prompts
have 0, 1 or 2 in-context examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

import yaml

from tasks.llm.ask_all import Unscored, ask_texts
from tasks.llm.calls import Ask, Call
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.measures.doclens.citations import number_sentences
from tasks.text.soap import is_heading
from tasks.texts.document import WHOLE, Document

SECTIONS = {
    "subjective": "SUBJECTIVE",
    "objective_exam": "PHYSICAL EXAM",
    "objective_results": "RESULTS",
    "assessment_and_plan": "ASSESSMENT AND PLAN",
}
"""The parts of an ACI-BENCH note and their headings."""


@dataclass(frozen=True)
class Example:
    """An in-context example: a numbered source and its cited text."""

    source: str
    output: str


@dataclass(frozen=True)
class Writer:
    """The writer as a system: its prompt file, in-context examples, and whether it writes each section by itself.

    ``prompt`` is ``cited_compact``, ``cited_note`` (which alone can be written by section), ``cited_question``,
    ``cited_impression`` or the same as ``uncited_...``.
    """

    name: str
    prompt: str
    examples: tuple[Example, ...] = ()
    by_section: bool = False


def writer(prompt: str, count: int, *, name: str | None = None, by_section: bool = False) -> Writer:
    """The writer with the first ``count`` in-context examples that ship for a prompt, by default named after them."""
    raw = yaml.safe_load(files(__package__).joinpath("examples.yaml").read_text(encoding="utf-8"))
    shown = tuple(Example(entry["source"], entry["output"]) for entry in raw[prompt][:count])
    return Writer(name or writer_name(count, by_section=by_section), prompt, shown, by_section)


def writer_name(examples: int, *, by_section: bool = False) -> str:
    """Name of the writer with so many in-context examples as a system."""
    return f"writer{' by section' if by_section else ''}, {examples} example{'' if examples == 1 else 's'}"


async def write_outputs(
    ask: Ask, documents: Sequence[Document], writers: Sequence[Writer]
) -> tuple[list[Document], Unscored]:
    """The documents with an output of each writer, or with the sections of it that could not be written (``lost``).

    Sections of a note without text below their heading are left out; a note without any section is lost as a whole.
    """
    done, unscored = list(documents), list[dict[str, str | None]]()
    for system in writers:
        parts = SECTIONS if system.by_section else {WHOLE: "full"}
        calls = {(one.id, part): _call(system, one, heading) for part, heading in parts.items() for one in documents}

        def step(key: tuple[str, str], system: Writer = system) -> str:
            return f"{system.prompt}{f'/{key[1]}' if system.by_section else ''} of {system.name}"

        texts, failed = await ask_texts(ask, calls, step, str.strip)
        unscored += failed
        done = [_with_output(one, system, {p: texts.get((one.id, p)) for p in parts}) for one in done]
    return done, unscored


def _call(system: Writer, document: Document, section: str) -> Call:
    fields = {"section": section} if system.prompt == "cited_note" else {}
    source = document.units
    messages = render(
        __package__, system.prompt, source=number_sentences(source), examples=list(system.examples), **fields
    )
    key = f"{document.id}/{system.prompt}"
    return Call(key, messages, least_tokens=tokens_needed(" ".join(source), times=1.5))


def _with_output(document: Document, system: Writer, parts: dict[str, str | None]) -> Document:
    """The document with an output made of its written parts; of sections, those with text below their heading."""
    lost = tuple(part for part, text in parts.items() if text is None)
    texts = [text for text in parts.values() if text is not None]
    if system.by_section:
        texts = [
            text for text in texts if any(line.strip() and not is_heading(line.strip()) for line in text.split("\n"))
        ]
    if not texts:
        return document
    return replace(
        document.with_outputs({system.name: "\n\n".join(texts)}),
        lost=document.lost if not lost else {**document.lost, system.name: lost},
    )
