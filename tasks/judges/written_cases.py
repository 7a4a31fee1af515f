"""Cases whose truth the simulated writer knows: what it was asked for and wrote, dropped, changed or left out.

Claims and omissions are those that DocLens and MED-OMIT judge: claims of the prompt against the note,
sentences of the note against its compact version, and sentences of the compact version against the note. A sentence
counts as kept only if no part of it was left out.
"""

import json
from collections.abc import Mapping

import pandas as pd

from tasks.domains.rules import PromptingRules
from tasks.judges.planted import PlantedClaim, PlantedOmission
from tasks.judges.simulated_notes import ERRING, STRIDE, WRITER, compacted, written
from tasks.measures.doclens.documents import prompt_claims
from tasks.measures.doclens.judging import named_symptoms
from tasks.simulator.truth import Truth
from tasks.text.sentences import sentence_spans

_FATES = {"symptom_dropped": "dropped by the writer", "contradicted": "contradicted by the writer"}
_DENIALS = ("no", "none")


def plant_written(prompts: pd.DataFrame, rules: PromptingRules, *, rounds: int, seed: int) -> list[PlantedClaim]:
    """Claims of the prompts against notes with planted errors, ``rounds`` notes a prompt.

    ``prompts`` has the columns record, single_prompt, mention, values and descriptors. A claim counts as true only if
    the writer marked a phrase that says it.
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
    if error in _FATES:
        return [case(_FATES[error], claim, False)]
    present = values[symptom] not in _DENIALS
    if not any(span.symptom == symptom and span.present == present for span in note.spans):
        return []
    found = [case("asked for and written", claim, True)] if error is None else []
    lost = error == "descriptor_lost"
    if error is None or lost:
        kind = "descriptor lost by the writer" if lost else "descriptor written"
        found += [case(kind, one, not lost) for one in described]
    return found


def plant_compacted(
    notes: pd.DataFrame, prompts: pd.DataFrame, *, rounds: int, seed: int
) -> tuple[list[PlantedClaim], list[PlantedOmission]]:
    """Claims and omissions from new compactions of ``notes`` (record, note); ``prompts`` has single_prompt by record.

    One compaction at the writer's usual rates gives the sentences kept and left out; ``rounds`` compactions by the
    writer that errs on purpose give the sentences with a changed detail.
    """
    claims: list[PlantedClaim] = []
    omissions: list[PlantedOmission] = []
    asked = prompts.set_index("record")["single_prompt"]
    for record, note in sorted(zip(notes["record"].tolist(), notes["note"].tolist(), strict=True)):
        number, prompt = (seed * rounds + 1) * STRIDE + int(record), str(asked[record])
        usual = compacted(prompt, Truth(note, (), None), WRITER, number)
        if usual.error is None or usual.error.kind != "detail_changed":
            omission = _omission(f"{record}-compact", note, usual)
            omissions.append(omission)
            for at, fact in enumerate(omission.facts):
                kept = at not in omission.removed
                fate = "kept by the writer" if kept else "left out by the writer"
                claims.append(PlantedClaim(omission.document, fate, usual.text, fact, kept))
            for start, end in _sentences(usual.text):
                short = usual.text[start:end]
                claims.append(PlantedClaim(omission.document, "shortened by the writer", note, short, True))
        for at in range(rounds):
            erring = compacted(prompt, Truth(note, (), None), ERRING, number + (at + 1) * STRIDE)
            claims += _changed_fact(f"{record}-changed-{at}", note, erring)
    return claims, omissions


def _omission(document: str, note: str, compact: Truth) -> PlantedOmission:
    """The note's sentences, and the numbers of those of which a part was left out."""
    facts, gone = [], set()
    for at, (start, end) in enumerate(_sentences(note)):
        facts.append(note[start:end])
        if any(first < end and start < last for first, last in compact.left_out):
            gone.add(at)
    return PlantedOmission(document, tuple(facts), frozenset(gone), compact.text)


def _changed_fact(document: str, note: str, compact: Truth) -> list[PlantedClaim]:
    error = compact.error
    if error is None or error.kind != "detail_changed" or error.start is None:
        return []
    held = [compact.text[start:end] for start, end in _sentences(compact.text) if start <= error.start < end]
    return [PlantedClaim(document, "detail changed by the writer", note, claim, False) for claim in held]


def _sentences(text: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end in sentence_spans(text) if not text.startswith("**", start)]
