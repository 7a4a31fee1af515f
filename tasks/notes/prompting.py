"""Builds the prompt for each record's note (SimSUM, Section 2.2 and Appendix B).

The random choices for a record are seeded by (seed, record), so a record has the same prompt in any set of records.
Only the assignment of records to calls that ask for three notes depends on the other records.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from schemas.errors import TableError
from schemas.params.records import Prompting
from schemas.tables.columns import typed
from schemas.tables.records import PROMPTS
from tasks.domains.rules import PromptingRules
from tasks.llm.prompts import render
from tasks.network.graph import NetworkDefinition

NOTES_A_CALL = 3
"""Notes of patients without symptoms and conditions are requested three per call."""
_CHOICES, _CALLS = 101, 102  # random streams
_PACKAGE = "tasks.notes"
DEFAULTS = Prompting()


@dataclass(frozen=True)
class Choices:
    """The random choices for one record's prompt; symptoms and conditions by column name, in prompt order."""

    kind: str
    mention: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    descriptors: dict[str, str | None] = field(default_factory=dict)
    causes: dict[str, tuple[str, ...]] = field(default_factory=dict)


def build_prompts(
    records: pd.DataFrame, network: NetworkDefinition, rules: PromptingRules, seed: int, params: Prompting = DEFAULTS
) -> pd.DataFrame:
    """The PROMPTS table, one row per record: all choices, and the prompt.

    Raises TableError for missing columns or an unknown symptom value.
    """
    needed = {*rules.symptoms, *rules.conditions, *(c for d in rules.descriptors.values() for c in d), "record"}
    if missing := sorted(needed - set(records.columns)):
        raise TableError(f"records: columns {missing} are missing; the prompts need them")
    rows = [_row(record, network, rules, seed, params) for record in records.to_dict("records")]
    return _assign_calls(typed(rows, PROMPTS), seed).sort_values("record", ignore_index=True)


def symptom_values(prompts: pd.DataFrame) -> pd.DataFrame:
    """The symptoms' values in the records: columns record and one for each symptom."""
    values = zip(prompts["record"], prompts["values"], strict=True)
    return pd.DataFrame([{"record": record, **json.loads(listed)} for record, listed in values])


def choose(record: Mapping[Hashable, Any], network: NetworkDefinition, rules: PromptingRules, seed: int) -> Choices:
    """Draw kind of prompt, symptoms to mention and to avoid, descriptors, and orders for one record."""
    draw = np.random.default_rng([seed, _CHOICES, int(record["record"])])
    present = {s for s in rules.symptoms if record[s] != rules.absent_value[s]}
    conditions = _shuffled(draw, [c for c in rules.conditions if record[c] != network.values(c)[0]])
    if not present:
        absent = _shuffled(draw, rules.symptoms) if conditions else rules.symptoms
        return Choices("conditions" if conditions else "unrelated", avoid=absent, conditions=conditions)
    order = _shuffled(draw, rules.symptoms)
    mentioned = {s for s in order if draw.random() < _mention_probability(record, s, rules)}
    causes = {s: _descriptor_causes(record, s, network, rules) for s in order if s in mentioned & present}
    descriptors: dict[str, str | None] = {}
    for s, found in causes.items():  # a descriptor shared by two causes is twice as likely
        bag = [descriptor for cause in found for descriptor in rules.descriptors[s][cause]]
        descriptors[s] = bag[int(draw.integers(len(bag)))] if bag else None
    mention, avoid = tuple(s for s in order if s in mentioned), tuple(s for s in order if s not in mentioned)
    return Choices("symptoms", mention, avoid, conditions, descriptors, causes)


def _row(
    record: Mapping[Hashable, Any], network: NetworkDefinition, rules: PromptingRules, seed: int, params: Prompting
) -> dict[str, object]:
    choices = choose(record, network, rules, seed)
    asks_other = not choices.mention and choices.kind == "symptoms" and params.nothing_to_mention == "other_complaint"

    def prompt(count: int) -> tuple[str, str]:
        """The instructions, and the prompt with them."""
        instructions = instructions_text(record, choices, rules, count=count, own_complaint=asks_other)
        fields = {"further_symptoms": asks_other or choices.kind != "symptoms", "count": count}
        return instructions, render(_PACKAGE, "note", instructions=instructions, **fields)[-1].content

    instructions, single = prompt(1)
    return {
        "record": record["record"],
        "kind": choices.kind,
        "mention": json.dumps(choices.mention),
        "avoid": json.dumps(choices.avoid),
        "values": json.dumps({s: record[s] for s in rules.symptoms}),
        "descriptors": json.dumps({s: choices.descriptors.get(s) for s in rules.symptoms}),
        "causes": json.dumps({s: choices.causes.get(s, ()) for s in rules.symptoms}),
        "conditions": json.dumps(choices.conditions),
        "instructions": instructions,
        "call": record["record"],
        "slot": 0,
        "prompt": prompt(NOTES_A_CALL)[1] if choices.kind == "unrelated" else single,
        "single_prompt": single,
    }


def _mention_probability(record: Mapping[Hashable, Any], symptom: str, rules: PromptingRules) -> float:
    value, known = record[symptom], rules.mention_probability[symptom]
    if value not in known:
        raise TableError(f"record {record['record']}: {symptom} is {value!r}; expected one of {', '.join(known)}")
    return known[value]


def _descriptor_causes(
    record: Mapping[Hashable, Any], symptom: str, network: NetworkDefinition, rules: PromptingRules
) -> tuple[str, ...]:
    """The causes whose descriptors are pooled: an overruling cause alone, else all that are present."""
    possible = {*network.parents(symptom), *rules.further_causes.get(symptom, ())}
    found = [c for c in rules.descriptors.get(symptom, {}) if c in possible and record[c] != network.values(c)[0]]
    strongest = next((c for c in rules.overruling_causes if c in found), None)
    return tuple(found) if strongest is None else (strongest,)


def _shuffled(draw: np.random.Generator, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[i] for i in draw.permutation(len(names)))


def instructions_text(
    record: Mapping[Hashable, Any], choices: Choices, rules: PromptingRules, *, count: int, own_complaint: bool = False
) -> str:
    """What the note must and must not say of symptoms and conditions; the consistency check sees the same text.

    ``own_complaint``: the writer is asked for a complaint outside the domain.
    """
    silent = choices.kind == "symptoms"
    described = {s: f", {descriptor}" for s, descriptor in choices.descriptors.items() if descriptor}
    mention = [f"{rules.labels[s]}: {record[s]}{described.get(s, '')}" for s in choices.mention]
    fields = {
        "mention": mention,
        "avoid": [rules.labels[s] for s in choices.avoid] if silent else [],
        "absent": [] if silent else [rules.explained(s) for s in choices.avoid],
        "conditions": [rules.labels[c] for c in choices.conditions],
        "forbidden_conditions": [rules.labels[c] for c in rules.conditions] if choices.kind == "unrelated" else [],
    }
    shown = {**fields, "own_complaint": own_complaint, "phrases": rules.phrases, "count": count}
    return render(_PACKAGE, "instructions", **shown)[-1].content


def _assign_calls(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Assign records without symptoms and conditions to shared calls at random.

    The id of a call is the record of its first note, which makes it unique. The last call also asks for three notes if
    fewer records are left; surplus notes are not used.
    """
    members = np.sort(frame.loc[frame["kind"] == "unrelated", "record"].to_numpy())
    shuffled = np.random.default_rng([seed, _CALLS]).permutation(members)
    place = {int(r): (int(shuffled[i - i % NOTES_A_CALL]), i % NOTES_A_CALL) for i, r in enumerate(shuffled)}
    places = [place.get(int(record), (int(record), 0)) for record in frame["record"]]
    frame["call"] = np.array([call for call, _ in places], dtype="int64")
    frame["slot"] = np.array([slot for _, slot in places], dtype="int64")
    return frame
