"""Pairs of generated texts: compact note against note, and note against the symptoms requested by its prompt."""

import json
from collections.abc import Sequence

import pandas as pd

from tasks.domains.rules import PromptingRules, load_rules
from tasks.evaluation.doclens.citations import read_statements
from tasks.evaluation.doclens.evaluators import Definitions
from tasks.evaluation.doclens.judging import CitedText, Pair
from tasks.text.sentences import sentences

COMPACT, PROMPTED = "compact notes", "notes against prompts"


def compact_pairs(notes: pd.DataFrame, compact: pd.DataFrame) -> list[Pair]:
    """Pairs with the compact note as output and the note as reference."""
    merged = notes.merge(compact[["record", "compact"]], on="record").sort_values("record")
    return [Pair(str(row.record), COMPACT, row.note, row.compact) for row in merged.itertuples()]


def prompt_pairs(notes: pd.DataFrame, prompts: pd.DataFrame) -> list[Pair]:
    """Pairs with the note as output and the prompt's requested symptoms as reference; claim recall only.

    Prompts allow the writer to add context, so claim precision would not measure conciseness. Records whose prompt asks
    for no symptom are left out, as they have nothing to recall.
    """
    merged = notes.merge(prompts, on="record", suffixes=("", "_prompt")).sort_values("record")
    pairs = []
    for row in merged.to_dict("records"):
        claims = prompt_claims(json.loads(row["mention"]), json.loads(row["values"]), json.loads(row["descriptors"]))
        if claims:
            reference = " ".join(claims)
            pairs.append(
                Pair(
                    str(row["record"]),
                    PROMPTED,
                    reference,
                    row["note"],
                    reference_claims=claims,
                    precision=False,
                    definitions=named_symptoms(claims),
                )
            )
    return pairs


def prompt_claims(mention: list[str], values: dict[str, str], descriptors: dict[str, str | None]) -> tuple[str, ...]:
    """Claims requested by a prompt: each symptom with its value, and its descriptor as a separate claim."""
    rules, claims = load_rules(), []
    for symptom in mention:
        name, value = rules.labels.get(symptom, symptom), values[symptom]
        claims.append(f"The patient {_state(rules, symptom, name, value)}.")
        if descriptors.get(symptom):
            claims.append(f"The patient's {name}: {descriptors[symptom]}.")
    return tuple(claims)


def named_symptoms(claims: Sequence[str]) -> Definitions:
    """The domain's symptoms that ``claims`` name, with what each name covers."""
    text = " ".join(claims)
    return tuple((name, covers) for name, covers in load_rules().glossary.items() if name in text)


def _state(rules: PromptingRules, symptom: str, name: str, value: str) -> str:
    if value in (worded := rules.claims.get(symptom, {})):
        return f"has {worded[value]}"
    if value == rules.absent_value.get(symptom, "no"):
        return f"does not have {name}"
    return f"has {name}" if rules.is_plain(symptom) else f"has {value} {name}"


def note_sentences(note: str) -> tuple[str, ...]:
    """Sentences of a note in numbering order, including headings."""
    return tuple(sentences(note))


def cited_texts(notes: pd.DataFrame, cited: pd.DataFrame, system: str) -> list[CitedText]:
    """Cited compact notes with the numbered sentences of their notes."""
    merged = notes.merge(cited, on="record", suffixes=("", "_cited")).sort_values("record")
    return [
        CitedText(str(row.record), system, tuple(read_statements(row.cited)), note_sentences(row.note))
        for row in merged.itertuples()
    ]
