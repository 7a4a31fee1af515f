"""Planted cases out of errors that the embedded writer makes on purpose: what it dropped, contradicted or left out.

The writer that plants an error in most notes tells which; a note's claims are those that its prompt asked for, as
DocLens puts them, so that the judge is measured on the very questions that it is asked.
"""

import json
from collections.abc import Mapping

import pandas as pd

from tasks.evaluation.calibration.planted import PlantedClaim, PlantedOmission
from tasks.evaluation.doclens.note_texts import prompt_claims
from tasks.llm.calls import Message
from tasks.llm.prompts import render
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import Truth, compact_truth, truth

WRITER = "vignette-writer-calibration"
_STRIDE = 1_000_003  # seeds of one run lie apart from those of another
_KINDS = {"symptom_dropped": "dropped by the writer", "contradicted": "contradicted by the writer"}
_DENIALS = ("no", "none")


def plant_written(
    prompts: pd.DataFrame, system: Message, *, rounds: int, seed: int
) -> tuple[list[PlantedClaim], list[PlantedOmission]]:
    """Claims of the prompts against notes with planted errors, and compact versions that left a symptom out.

    ``prompts`` has the columns record, single_prompt, mention, values and descriptors; ``system`` is the writer's
    system message. A claim counts as true only where the writer marked a phrase that says it.
    """
    claims: list[PlantedClaim] = []
    omissions: list[PlantedOmission] = []
    for row in prompts.sort_values("record").to_dict("records"):
        mention = json.loads(str(row["mention"]))
        values, descriptors = json.loads(str(row["values"])), json.loads(str(row["descriptors"]))
        if not mention:
            continue
        messages = ((system.role, system.content), ("user", str(row["single_prompt"])))
        asked = {symptom: prompt_claims([symptom], values, {})[0] for symptom in mention}
        for at in range(rounds):
            document, number = f"{row['record']}-{at}", (seed * rounds + at) * _STRIDE + int(row["record"])
            note = truth(ChatRequest(WRITER, messages, seed=number))[0]
            claims += _claims(document, note, asked, values)
            claims += _lost_descriptor(document, note, values, descriptors)
            omission = _omission(document, note, messages, number, asked)
            omissions += [] if omission is None else [omission]
    return claims, omissions


def _claims(document: str, note: Truth, asked: Mapping[str, str], values: Mapping[str, str]) -> list[PlantedClaim]:
    found = []
    for symptom, claim in asked.items():
        if note.error is not None and note.error.item == symptom:
            kind = _KINDS.get(note.error.kind)
            found += [PlantedClaim(document, kind, note.text, claim, False)] if kind else []
        elif any(s.symptom == symptom and s.present == (values[symptom] not in _DENIALS) for s in note.spans):
            found.append(PlantedClaim(document, "asked for and written", note.text, claim, True))
    return found


def _lost_descriptor(
    document: str, note: Truth, values: Mapping[str, str], descriptors: Mapping[str, str | None]
) -> list[PlantedClaim]:
    error = note.error
    if error is None or error.kind != "descriptor_lost" or not descriptors.get(error.item or ""):
        return []
    claim = prompt_claims([str(error.item)], dict(values), dict(descriptors))[-1]
    return [PlantedClaim(document, "descriptor lost by the writer", note.text, claim, False)]


def _omission(
    document: str, note: Truth, messages: tuple[tuple[str, str], ...], number: int, asked: Mapping[str, str]
) -> PlantedOmission | None:
    """The compact version with the facts that the note tells; None unless exactly the planted symptom is lost."""
    request = (*messages, ("assistant", note.text), ("user", render("tasks.notes", "compact")[-1].content))
    compact = compact_truth(ChatRequest(WRITER, request, seed=number), note)
    told = [s for s in asked if any(span.symptom == s for span in note.spans)]
    told = [s for s in told if note.error is None or note.error.item != s]
    lost = {span.symptom for span in note.spans} - {span.symptom for span in compact.spans}
    if compact.error is None or compact.error.kind != "detail_lost" or lost != {compact.error.item}:
        return None
    removed = frozenset(at for at, symptom in enumerate(told) if symptom in lost)
    return PlantedOmission(document, tuple(asked[s] for s in told), removed, compact.text) if removed else None
