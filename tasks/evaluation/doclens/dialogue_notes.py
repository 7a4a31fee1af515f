"""Pairs of ACI-BENCH notes, split by section as in DocLens."""

from collections.abc import Mapping

import pandas as pd

from tasks.evaluation.doclens.citations import read_statements
from tasks.evaluation.doclens.judging import CitedText, Pair
from tasks.text.soap import PARTS, split_soap

Subclaims = Mapping[str, Mapping[str, tuple[str, ...]]]


def section_pairs(
    encounters: pd.DataFrame, outputs: Mapping[str, str], system: str, subclaims: Subclaims | None, *, precision: bool
) -> list[Pair]:
    """Pair each section of each output with the same section of its reference.

    If the output lacks a section, no claim of it is recalled. If the reference lacks it, there is nothing to recall and
    no claim of the output's section is entailed. ``subclaims`` of the references are used if given.
    """
    pairs = []
    for row in encounters.itertuples():
        if row.encounter not in outputs:  # the writer's call failed: unscored, unlike an empty note
            continue
        reference, output = split_soap(row.note), split_soap(outputs[row.encounter])
        for part in PARTS:
            given = subclaims[row.encounter][part] if subclaims is not None else None
            pairs.append(
                Pair(
                    row.encounter,
                    system,
                    reference.get(part, ""),
                    output.get(part, ""),
                    item=part,
                    reference_claims=given,
                    precision=precision,
                )
            )
    return pairs


def dialogue_turns(dialogue: str) -> tuple[str, ...]:
    """Turns of a dialogue in order; notes cite them as sentences."""
    return tuple(line.strip() for line in dialogue.split("\n") if line.strip())


def cited_notes(encounters: pd.DataFrame, written: Mapping[str, str], system: str) -> list[CitedText]:
    """Generated notes with the turns that they cite."""
    turns = {row.encounter: dialogue_turns(row.dialogue) for row in encounters.itertuples()}
    return [
        CitedText(encounter, system, tuple(read_statements(text)), turns[encounter])
        for encounter, text in sorted(written.items())
    ]
