"""Planted cases from compactions by the simulated writer, which knows what it left out and what it changed.

The items are those that DocLens and MED-OMIT judge: sentences of the note against its compact version, and sentences of
the compact version against the note. A sentence counts as kept only if no part of it was left out.
"""

from collections.abc import Callable, Sequence

import pandas as pd

from tasks.evaluation.calibration.planted import PlantedClaim, PlantedOmission
from tasks.llm.calls import Message
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import Truth, compact_truth
from tasks.text.sentences import sentence_spans

WRITER, ERRING = "vignette-writer", "vignette-writer-calibration"
Conversation = Callable[[str, str], Sequence[Message]]
"""Messages that ask for the compact version, given the note's prompt and the note."""
STRIDE = 1_000_003  # keeps the seeds of different runs apart
_CHANGED = "detail_changed"


def plant_compacted(
    notes: pd.DataFrame, prompts: pd.DataFrame, conversation: Conversation, *, rounds: int, seed: int
) -> tuple[list[PlantedClaim], list[PlantedOmission]]:
    """Claims and omissions from new compactions of ``notes`` (record, note); ``prompts`` has single_prompt by record.

    One compaction at the writer's usual rates gives the sentences kept and left out; ``rounds`` compactions by the
    writer that errs on purpose give the sentences with a changed detail.
    """
    claims: list[PlantedClaim] = []
    omissions: list[PlantedOmission] = []
    asked = prompts.set_index("record")["single_prompt"]
    for record, note in sorted(zip(notes["record"].tolist(), notes["note"].tolist(), strict=True)):
        number = (seed * rounds + 1) * STRIDE + int(record)
        messages = conversation(str(asked[record]), note)
        usual = _compact(WRITER, messages, note, number)
        if usual.error is None or usual.error.kind != _CHANGED:
            document = f"{record}-compact"
            facts, removed = _facts(note, usual)
            claims += [
                PlantedClaim(document, _fate(at in removed), usual.text, fact, at not in removed)
                for at, fact in enumerate(facts)
            ]
            claims += [
                PlantedClaim(document, "shortened by the writer", note, usual.text[start:end], True)
                for start, end in _sentences(usual.text)
            ]
            omissions.append(PlantedOmission(document, facts, removed, usual.text))
        for at in range(rounds):
            erring = _compact(ERRING, messages, note, number + (at + 1) * STRIDE)
            claims += _changed(f"{record}-changed-{at}", note, erring)
    return claims, omissions


def _fate(removed: bool) -> str:
    return "left out by the writer" if removed else "kept by the writer"


def _compact(model: str, messages: Sequence[Message], note: str, number: int) -> Truth:
    said = tuple((message.role, message.content) for message in messages)
    return compact_truth(ChatRequest(model, said, seed=number), Truth(note, (), None))


def _facts(note: str, compact: Truth) -> tuple[tuple[str, ...], frozenset[int]]:
    """The note's sentences, and the numbers of those of which a part was left out."""
    spans = _sentences(note)
    gone = {
        at
        for at, (start, end) in enumerate(spans)
        if any(first < end and start < last for first, last in compact.left_out)
    }
    return tuple(note[start:end] for start, end in spans), frozenset(gone)


def _changed(document: str, note: str, compact: Truth) -> list[PlantedClaim]:
    error = compact.error
    if error is None or error.kind != _CHANGED or error.start is None:
        return []
    held = [compact.text[start:end] for start, end in _sentences(compact.text) if start <= error.start < end]
    return [PlantedClaim(document, "detail changed by the writer", note, claim, False) for claim in held]


def _sentences(text: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end in sentence_spans(text) if not text.startswith("**", start)]
