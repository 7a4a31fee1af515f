"""The simulator's writer measured against its own truth, for the stages that report its quality."""

from typing import Any

import pandas as pd

from flows.engine.simulated_truth import GoldNotes, gold_spans, write_gold
from flows.engine.stage import Stage
from tasks.domains.rules import load_rules
from tasks.evaluation.simulator_quality.rows import PROVENANCE, error_rows, text_rows
from tasks.network.definition import load_definition
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.simulator.truth import ERROR_KINDS
from tasks.spans.statistics import span_statistics


def measured(stage: Stage, size: int) -> tuple[GoldNotes, pd.DataFrame]:
    """Notes of ``size`` fresh records, and the metric rows that need no real notes."""
    seed, rules = stage.params.seed, load_rules()
    definition = load_definition(stage.dep("network"))
    records = sample(definition, size, seed)
    parents = {symptom: definition.parents(symptom) for symptom in rules.symptoms}
    prompts = build_prompts(records, parents, rules, seed)
    notes = write_gold(prompts)
    spans, values = gold_spans(notes), records[["record", *rules.symptoms]]
    about: dict[str, Any] = {"seed": seed, "system": "gold spans", "provenance": PROVENANCE, "stage": stage.name}
    symptomatic = set(prompts.loc[prompts["kind"] == "symptoms", "record"])
    texts = {version: [known.text for known in notes.version(version).values()] for version in ("normal", "compact")}
    kinds = {v: [t.error.kind if t.error else None for t in notes.version(v).values()] for v in texts}
    tables = [span_statistics(spans, values, version, **about) for version in texts]
    tables.append(text_rows(texts, [note.text for record, note in notes.normal.items() if record in symptomatic], seed))
    tables.append(error_rows(kinds, ERROR_KINDS))
    return notes, pd.concat(tables, ignore_index=True).assign(stage=stage.name)
