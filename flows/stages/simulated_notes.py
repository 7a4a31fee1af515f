"""Stages on fresh records with notes by the simulator's rules: text baselines, and text as confounder."""

from functools import partial

import numpy as np
import pandas as pd

from flows.repository.workspace import VECTORS, workspace
from flows.runtime.stage import Stage
from flows.stages.span import span_chunk
from schemas.errors import NetworkError
from tasks.baselines import bn_text, neural_text
from tasks.baselines.comparisons import (
    Swaps,
    compared_pairs,
    effect_rows,
    paired_rows,
    provenance_by_system,
    text_pairs,
)
from tasks.baselines.note_vectors import NoteVectors, embed
from tasks.baselines.scoring import metric_rows
from tasks.baselines.targets import parts_of, split_records
from tasks.confounding.coverage import adjustment_designs, confounding_table, estimates
from tasks.domains.rules import rules_of
from tasks.encoder import VectorStore, load_encoder
from tasks.judges.simulated_notes import gold_tables, write_gold
from tasks.network.causal import exact_effect, question_of
from tasks.network.graph import evidence_columns
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts

Made = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]
"""Records, their notes in both versions, and the annotator's spans."""


async def simulated_notes(stage: Stage, size: int, unscored: str) -> Made:
    """Sample ``size`` records, write their notes, have their spans marked; failures go to the table ``unscored``."""
    rules, seed = rules_of(stage.params.domain), stage.params.seed
    records = sample(stage.network, size, seed)
    notes, compact = gold_tables(write_gold(build_prompts(records, stage.network, rules, seed)))
    marked = await stage.in_chunks(span_chunk, {"records": records, "notes": notes, "compact_notes": compact})
    stage.save_unscored(unscored, marked["unscored"], of=2 * size)
    return records, notes, compact, marked["spans"]


def encoded(stage: Stage, notes: pd.DataFrame, compact: pd.DataFrame, spans: pd.DataFrame) -> tuple[NoteVectors, str]:
    """Vectors of the notes' sentences and spans, and the encoder's label."""
    params = stage.params.embed
    encoder = load_encoder(params.encoder, params.precision, params.device)
    encode = partial(encoder.encode, store=VectorStore(workspace() / VECTORS))
    return NoteVectors(*embed(notes, compact, spans, encode)), encoder.label


async def run_baselines_text_published(stage: Stage) -> None:
    """Sample, write, mark spans, embed and train the text models of Tables 5 and 6, and compare them."""
    params, seed = stage.params.baselines, stage.params.seed
    size = stage.params.baselines_published.records
    records, notes, *texts = await simulated_notes(stage, size, "unscored_baselines_text")
    vectors, encoder = encoded(stage, notes, *texts)
    parts = parts_of(stage.network, records, split_records(records, test_share=params.test_share, seed=seed))
    text = neural_text.predict(parts, vectors, params)
    text_tab = neural_text.predict(parts, vectors, params, tables=True)
    combined = bn_text.predict(parts, vectors, text, params, seed)

    predictions = pd.concat([text, text_tab, combined], ignore_index=True)
    swaps = Swaps(seed, params.draws)
    made_by = provenance_by_system(notes["provenance"].tolist(), encoder)
    of_text = made_by[neural_text.TEXT]
    scores = metric_rows(predictions, parts.targets, params.bins, made_by)
    stage.save_metrics("baselines_text", scores)
    paired = [
        *(paired_rows(predictions, pairs, parts.targets, swaps, of_text) for pairs in (compared_pairs(), text_pairs())),
        effect_rows(parts, vectors, params, swaps, of_text),
    ]
    stage.save_metrics("baselines_text_paired", pd.concat(paired, ignore_index=True))


VERSION = "normal"


async def run_text_confounding_published(stage: Stage) -> None:
    """Sample, write, mark spans and embed; estimate the effect on draws of the records by each adjustment."""
    params, seed = stage.params.text_confounding, stage.params.seed
    definition = stage.network
    question = question_of(definition)
    if question is None:
        raise NetworkError(f"network {definition.name}: expected one treatment of two values and one outcome")
    records, notes, compact, spans = await simulated_notes(stage, params.pool, "unscored_text_confounding")
    vectors, encoder = encoded(stage, notes, compact.head(0), spans[spans["version"] == VERSION])
    symptoms = rules_of(stage.params.domain).symptoms
    numbers = records["record"].to_numpy()
    designs = adjustment_designs(
        records,
        [name for name in evidence_columns(definition, question.outcome, "realistic") if name != question.treatment],
        symptoms,
        {symptom: vectors.embedding("span", VERSION, numbers, symptom) for symptom in symptoms},
        vectors.embedding("mean", VERSION, numbers),
        params.components,
        seed,
    )
    treated = (records[question.treatment] == definition.values(question.treatment)[-1]).to_numpy()
    outcome = records[question.outcome].to_numpy(dtype=np.float64)
    sizes = {name: getattr(params, name) for name in ("draws", "size", "folds", "repeats")}
    found = estimates(designs, treated, outcome, **sizes, seed=seed)
    table = confounding_table(
        found,
        exact_effect(definition, question),
        pool=params.pool,
        size=params.size,
        seed=seed,
        item=f"{question.treatment} on {question.outcome}",
        provenance=f"{notes['provenance'].iloc[0]}, {encoder}",
    )
    stage.save_metrics("text_confounding", table)
