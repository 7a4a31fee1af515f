"""Planted claims from errors that the simulated writer makes on purpose: symptoms or descriptors lost or contradicted.

The claims are those of the prompt, as DocLens words them, so that the judge is measured on the questions that it gets.
"""

import json
from collections.abc import Mapping

import pandas as pd

from tasks.evaluation.calibration.compacted import ERRING, STRIDE
from tasks.evaluation.calibration.planted import PlantedClaim
from tasks.evaluation.doclens.note_texts import named_symptoms, prompt_claims
from tasks.llm.calls import Message
from tasks.simulator.request import ChatRequest
from tasks.simulator.truth import Truth, truth

_KINDS = {"symptom_dropped": "dropped by the writer", "contradicted": "contradicted by the writer"}
_DENIALS = ("no", "none")


def plant_written(prompts: pd.DataFrame, system: Message, *, rounds: int, seed: int) -> list[PlantedClaim]:
    """Claims of the prompts against notes with planted errors, ``rounds`` notes a prompt.

    ``prompts`` has the columns record, single_prompt, mention, values and descriptors; ``system`` is the writer's
    system message. A claim counts as true only if the writer marked a phrase that says it.
    """
    claims: list[PlantedClaim] = []
    for row in prompts.sort_values("record").to_dict("records"):
        mention = json.loads(str(row["mention"]))
        values, descriptors = json.loads(str(row["values"])), json.loads(str(row["descriptors"]))
        messages = ((system.role, system.content), ("user", str(row["single_prompt"])))
        for at in range(rounds if mention else 0):
            number = (seed * rounds + at) * STRIDE + int(row["record"])
            note = truth(ChatRequest(ERRING, messages, seed=number))[0]
            for symptom in mention:
                claims += _claims(f"{row['record']}-{at}", note, symptom, values, descriptors)
    return claims


def _claims(
    document: str, note: Truth, symptom: str, values: Mapping[str, str], descriptors: Mapping[str, str | None]
) -> list[PlantedClaim]:
    """The claim of a symptom's value and, if the prompt has a descriptor, that of the descriptor."""
    claim, *described = prompt_claims([symptom], dict(values), dict(descriptors))
    error = note.error.kind if note.error is not None and note.error.item == symptom else None
    if error in _KINDS:
        return [_case(document, _KINDS[error], note, claim, False)]
    present = values[symptom] not in _DENIALS
    if not any(span.symptom == symptom and span.present == present for span in note.spans):
        return []
    found = [_case(document, "asked for and written", note, claim, True)] if error is None else []
    lost = error == "descriptor_lost"
    if error is None or lost:
        kind = "descriptor lost by the writer" if lost else "descriptor written"
        found += [_case(document, kind, note, one, not lost) for one in described]
    return found


def _case(document: str, kind: str, note: Truth, claim: str, true: bool) -> PlantedClaim:
    return PlantedClaim(document, kind, note.text, claim, true, definitions=named_symptoms([claim]))
