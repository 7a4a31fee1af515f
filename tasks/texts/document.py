"""The unit of every evaluation: a source, what it should be turned into, and what systems made of it.

A generated note, a dialogue of ACI-BENCH, a question or report to summarise and a user's own text are all documents.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import pandas as pd
from pydantic import TypeAdapter

from schemas.tables.columns import typed
from schemas.tables.evaluation import DOCUMENTS
from tasks.text.sections import split_at, split_headings
from tasks.text.sentences import sentences
from tasks.text.soap import PARTS, split_soap

Tables = dict[str, pd.DataFrame]
"""Tables by name."""
WHOLE = "all"
"""Section name of a text that is not divided."""
SOURCE = "(source)"
"""Name of the source among the texts that questions are answered from; no system can have it."""
Sectioning = Literal["whole", "given", "soap", "headings"]
"""Whole texts; the document's own ``sections``; the four parts of a SOAP note, found as in ACI-BENCH; any headings."""

_NUMBERED = re.compile(r"\[\d+\]")
_SPEAKER = re.compile(r"\s*(?:\[[A-Za-z][\w .-]{0,30}\]|[A-Z][\w .-]{0,30}:)\s*\S")


@dataclass(frozen=True)
class Document:
    """A source and the outputs that systems made of it.

    ``source`` holds one text, or several notes in order. ``sections``: headings at which the reference and the outputs
    are divided. ``claims``: claims of the reference by section (`WHOLE` for an undivided one), used in place of claims
    listed by the judge. ``heading``: the heading of a record under which the reference and the outputs stand.
    ``outputs``: text by system. ``questions``: questions about the source with right answers, used
    in place of generated ones. ``lost``: by system, the sections of its output that could not be written. ``dialogue``:
    whether the source is a dialogue, None where its lines show it.
    """

    id: str
    source: tuple[str, ...]
    reference: str | None = None
    sections: tuple[str, ...] | None = None
    claims: Mapping[str, tuple[str, ...]] | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[tuple[str, str], ...] | None = None
    lost: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dialogue: bool | None = None
    heading: str | None = None

    @property
    def text(self) -> str:
        """The source as one text."""
        return "\n\n".join(self.source)

    @property
    def is_dialogue(self) -> bool:
        """Whether the source is a dialogue: most of its lines begin with a speaker, unless ``dialogue`` is given."""
        if self.dialogue is not None:
            return self.dialogue
        lines = [line for line in self.text.split("\n") if line.strip()]
        return len(lines) > 1 and sum(_SPEAKER.match(line) is not None for line in lines) > len(lines) / 2

    @property
    def units(self) -> tuple[str, ...]:
        """The numbered parts of the source that citations refer to, from 0.

        They are the parts that the source numbers itself (``[0] first [1] second``), the turns of a dialogue, or the
        sentences of notes.
        """
        if self.text.lstrip().startswith("[0]"):
            return tuple(" ".join(part.split()) for part in _NUMBERED.split(self.text)[1:])
        if self.is_dialogue:
            return tuple(line.strip() for line in self.text.split("\n") if line.strip())
        return tuple(sentence for text in self.source for sentence in sentences(text))

    def with_outputs(self, outputs: Mapping[str, str]) -> "Document":
        """The document with further outputs."""
        return replace(self, outputs={**self.outputs, **outputs})


def system_names(documents: Iterable[Document]) -> list[str]:
    """Systems with an output for any document, in order of first appearance."""
    return list(dict.fromkeys(system for document in documents for system in document.outputs))


_CONTENT = TypeAdapter(Document)


def documents_table(documents: Sequence[Document]) -> pd.DataFrame:
    """The documents as DOCUMENTS, one row each, so that work on them can be cut into chunks."""
    rows = [{"document": one.id, "content": _CONTENT.dump_json(one).decode()} for one in documents]
    return typed(rows, DOCUMENTS)


def documents_of(table: pd.DataFrame) -> list[Document]:
    """The documents of a DOCUMENTS table, in its order."""
    return [_CONTENT.validate_json(content) for content in table["content"]]


def split(text: str, document: Document, how: Sectioning) -> dict[str, str]:
    """Sections of a text by name; a section that it lacks is absent."""
    if how == "soap":
        return split_soap(text)
    if how == "headings":
        return split_headings(text)
    return split_at(text, document.sections) if how == "given" and document.sections else {WHOLE: text}


def compared_sections(document: Document, output: str, how: Sectioning) -> dict[str, tuple[str, str]]:
    """Reference and output of each section, by name; an absent section is empty.

    Sections are those of the reference and those that only the output has: nothing in them is in the reference.
    """
    reference, given = split(document.reference or "", document, how), split(output, document, how)
    names = PARTS if how == "soap" else dict.fromkeys([*reference, *given])
    return {name: (reference.get(name, ""), given.get(name, "")) for name in names}
