"""Claims whose truth the simulated writer knows: what it was asked for and wrote, dropped, changed or left out.

Claims of the prompt against the note, sentences of the note against its compact version, and sentences of the compact
version against the note.
"""

import json
from collections.abc import Mapping

import pandas as pd

from tasks.domains.rules import PromptingRules
from tasks.judges.shortening import BY_WRITER, compactions, prose_spans
from tasks.judges.simulated_notes import ERRING, STRIDE, compacted, written
from tasks.measures.doclens.documents import prompt_claims
from tasks.measures.doclens.judging import named_symptoms
from tasks.measures.doclens.planted_claims import PlantedClaim
from tasks.simulator.truth import Truth

WRITTEN, DESCRIBED, UNDESCRIBED = "asked for and written", "descriptor written", "descriptor lost by the writer"
SHORTENED, CHANGED = "shortened by the writer", "detail changed by the writer"
FATES = {"symptom_dropped": "dropped by the writer", "contradicted": "contradicted by the writer"}
OF_PROMPTS = frozenset({WRITTEN, *FATES.values(), DESCRIBED, UNDESCRIBED})
"""Kinds of claims of the prompts."""


def plant_written(prompts: pd.DataFrame, rules: PromptingRules, *, rounds: int, seed: int) -> list[PlantedClaim]:
    """Claims of the prompts against notes with planted errors, ``rounds`` notes a prompt.

    ``prompts`` has the columns record, single_prompt, mention, values and descriptors.
    """
    claims: list[PlantedClaim] = []
    for row in prompts.sort_values("record").to_dict("records"):
        mention = json.loads(str(row["mention"]))
        values, descriptors = json.loads(str(row["values"])), json.loads(str(row["descriptors"]))
        for at in range(rounds if mention else 0):
            number = (seed * rounds + at) * STRIDE + int(row["record"])
            note = written(str(row["single_prompt"]), ERRING, number)[0]
            for symptom in mention:
                claims += _claims(f"{row['record']}-{at}", note, symptom, values, descriptors, rules)
    return claims


def _claims(
    document: str,
    note: Truth,
    symptom: str,
    values: Mapping[str, str],
    descriptors: Mapping[str, str | None],
    rules: PromptingRules,
) -> list[PlantedClaim]:
    """The claim of a symptom's value and, if the prompt has a descriptor, that of the descriptor."""
    claim, *described = prompt_claims([symptom], values, descriptors, rules)

    def case(kind: str, one: str, true: bool) -> PlantedClaim:
        return PlantedClaim(document, kind, note.text, one, true, definitions=named_symptoms([one], rules.glossary))

    error = note.error.kind if note.error is not None and note.error.item == symptom else None
    if error in FATES:
        return [case(FATES[error], claim, False)]
    found = [case(WRITTEN, claim, True)] if error is None else []
    lost = error == "descriptor_lost"
    if error is None or lost:
        found += [case(UNDESCRIBED if lost else DESCRIBED, one, not lost) for one in described]
    return found


def plant_compacted(notes: Mapping[str, str], prompts: pd.DataFrame, *, rounds: int, seed: int) -> list[PlantedClaim]:
    """Claims from new compactions of ``notes``, by record; ``prompts`` has single_prompt by record.

    One compaction at the writer's usual rates gives the sentences kept, left out and shortened; ``rounds`` compactions
    by the writer that errs on purpose give the sentences with a changed detail.
    """
    claims: list[PlantedClaim] = []
    asked = prompts.set_index("record")["single_prompt"]
    for record, number, usual in compactions(notes, prompts, rounds=rounds, seed=seed):
        note = notes[record]
        if usual is not None:
            for fact, gone in usual.sentences():
                claims.append(PlantedClaim(usual.document, BY_WRITER[not gone], usual.summary, fact, not gone))
            claims += [
                PlantedClaim(usual.document, SHORTENED, note, usual.summary[start:end], True)
                for start, end in prose_spans(usual.summary)
            ]
        for at in range(rounds):
            erring = compacted(str(asked[int(record)]), Truth(note, (), None), ERRING, number + (at + 1) * STRIDE)
            if (error := erring.error) is not None and error.kind == "detail_changed" and error.start is not None:
                spans = [one for one in prose_spans(erring.text) if one[0] <= error.start < one[1]]
                told = [erring.text[start:end] for start, end in spans]
                claims += [PlantedClaim(f"{record}-changed-{at}", CHANGED, note, claim, False) for claim in told]
    return claims
