"""The simulator's notes for given prompts with their known truth: first attempts, before any filter.

Combines the requests of the notes room with the truth from the simulator; sends no request.
"""

from dataclasses import dataclass

import pandas as pd

from tasks.llm.calls import Message
from tasks.notes.compacting import conversation
from tasks.notes.prompting import system_message
from tasks.notes.writing import sample_index
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import Truth, compact_truth, truth

WRITER = "vignette-writer"


@dataclass(frozen=True)
class GoldNotes:
    """First notes and compact versions by record, with their truth."""

    normal: dict[int, Truth]
    compact: dict[int, Truth]

    def version(self, name: str) -> dict[int, Truth]:
        """Truths of the version ``normal`` or ``compact``."""
        return self.normal if name == "normal" else self.compact


def write_gold(prompts: pd.DataFrame, model: str = WRITER) -> GoldNotes:
    """The notes that the write and compact stages would get from the simulator for ``prompts``."""
    calls: dict[int, tuple[Truth, ...]] = {}
    normal: dict[int, Truth] = {}
    compact: dict[int, Truth] = {}
    for row in prompts.sort_values("record").to_dict("records"):
        record, call = int(row["record"]), int(row["call"])
        if call not in calls:
            asked = (system_message(), Message("user", str(row["prompt"])))
            calls[call] = truth(_request(asked, model, sample_index(call)))
        note = calls[call][int(row["slot"])]
        rewriting = _request(conversation(str(row["single_prompt"]), note.text), model, sample_index(record))
        normal[record], compact[record] = note, compact_truth(rewriting, note)
    return GoldNotes(normal, compact)


def gold_tables(notes: GoldNotes) -> tuple[pd.DataFrame, pd.DataFrame]:
    """NOTES and COMPACT_NOTES of first notes, without the consistency check."""
    provenance = f"{WRITER} (embedded rules)"
    normal = pd.DataFrame(
        {
            "record": list(notes.normal),
            "attempt": 0,
            "note": [known.text for known in notes.normal.values()],
            "consistent": True,
            "provenance": provenance,
        }
    )
    compact = pd.DataFrame(
        {
            "record": list(notes.compact),
            "compact": [known.text for known in notes.compact.values()],
            "provenance": provenance,
        }
    )
    return normal, compact


def gold_spans(notes: GoldNotes) -> pd.DataFrame:
    """True spans of both versions, with the columns that span statistics read."""
    rows = [
        {"record": record, "version": version, "symptom": span.symptom, "text": span.text, "section": span.section}
        for version in ("normal", "compact")
        for record, known in notes.version(version).items()
        for span in known.spans
    ]
    return pd.DataFrame(rows, columns=["record", "version", "symptom", "text", "section"])


def _request(messages: tuple[Message, ...], model: str, seed: int) -> ChatRequest:
    return ChatRequest(model, tuple((message.role, message.content) for message in messages), seed=seed)
