"""The documents of an evaluation, and their form as a table."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.documents import DOCUMENTS
from tasks.text.sentences import sentences

WHOLE = "all"
"""Section name of a text that is not divided."""

_NUMBERED = re.compile(r"\[\d+\]")
_SPEAKER = re.compile(r"\s*(?:\[[A-Za-z][\w .-]{0,30}\]|[A-Z][\w .-]{0,30}:)\s*\S")


@dataclass(frozen=True)
class Document:
    """A source and the outputs that systems made of it.

    ``source`` holds one text, or several notes in order. ``sections``: headings at which the reference and the outputs
    are divided. ``claims``: claims of the reference by section (`WHOLE` for an undivided one), used in place of claims
    listed by the judge. ``outputs``: text by system. ``questions``: questions about the source with right answers, used
    in place of generated ones.
    """

    id: str
    source: tuple[str, ...]
    reference: str | None = None
    sections: tuple[str, ...] | None = None
    claims: Mapping[str, tuple[str, ...]] | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[tuple[str, str], ...] | None = None

    @property
    def text(self) -> str:
        """The source as one text."""
        return "\n\n".join(self.source)

    @property
    def is_dialogue(self) -> bool:
        """Whether the source is a dialogue: most of its lines begin with a speaker."""
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


def documents_table(documents: Sequence[Document]) -> pd.DataFrame:
    """The documents as DOCUMENTS."""
    rows = [
        {
            "document": one.id,
            "source": _json(one.source),
            "reference": one.reference,
            "sections": None if one.sections is None else _json(one.sections),
            "claims": None if one.claims is None else _json(one.claims),
            "outputs": _json(one.outputs),
            "questions": None if one.questions is None else _json(one.questions),
        }
        for one in documents
    ]
    return typed(rows, DOCUMENTS)


def documents_of(table: pd.DataFrame) -> list[Document]:
    """The documents of a DOCUMENTS table, in its order."""
    return [_document(row) for row in table.to_dict("records")]


def _document(row: Mapping[str, str]) -> Document:
    claims = None if pd.isna(row["claims"]) else json.loads(row["claims"])
    return Document(
        row["document"],
        tuple(json.loads(row["source"])),
        None if pd.isna(row["reference"]) else row["reference"],
        None if pd.isna(row["sections"]) else tuple(json.loads(row["sections"])),
        None if claims is None else {name: tuple(listed) for name, listed in claims.items()},
        json.loads(row["outputs"]),
        None if pd.isna(row["questions"]) else tuple((asked, answer) for asked, answer in json.loads(row["questions"])),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
