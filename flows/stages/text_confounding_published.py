"""Stage `text_confounding_published`: the effect of the treatment where the symptoms are in the notes only."""

from functools import partial

import numpy as np
import pandas as pd

from flows.engine.simulated_truth import gold_tables, write_gold
from flows.engine.span_chunk import span_chunk
from flows.engine.stage import Stage
from flows.engine.workspace import workspace
from schemas.errors import NetworkError
from schemas.evidence import evidence_columns
from tasks.baselines.note_vectors import NoteVectors, embed
from tasks.confounding.coverage import Pool, confounding_table, estimates
from tasks.confounding.designs import adjustment_designs
from tasks.domains.rules import load_rules
from tasks.encoder import VectorStore, load_encoder
from tasks.network.causal import exact_effect, question_of
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts

VERSION = "normal"


async def run(stage: Stage) -> None:
    """Sample, write, mark spans and embed; estimate the effect on draws of the records by each adjustment."""
    params, seed = stage.params.text_confounding, stage.params.seed
    definition = load_definition(stage.dep("network"))
    question = question_of(definition)
    if question is None:
        raise NetworkError(f"network {definition.name}: expected one treatment of two values and one outcome")
    records = sample(definition, params.pool, seed)
    vectors, label = await _note_vectors(stage, definition, records)
    symptoms, numbers = load_rules().symptoms, records["record"].to_numpy()
    designs = adjustment_designs(
        records,
        [name for name in evidence_columns(definition, question.outcome, "realistic") if name != question.treatment],
        symptoms,
        {symptom: vectors.embedding("span", VERSION, numbers, symptom) for symptom in symptoms},
        vectors.embedding("mean", VERSION, numbers),
        params.components,
    )
    treated = (records[question.treatment] == definition.values(question.treatment)[-1]).to_numpy()
    pool = Pool(designs, treated, records[question.outcome].to_numpy(dtype=np.float64))
    found = estimates(pool, draws=params.draws, size=params.size, folds=params.folds, seed=seed)
    table = confounding_table(
        found,
        exact_effect(definition, question),
        pool=params.pool,
        size=params.size,
        seed=seed,
        item=f"{question.treatment} on {question.outcome}",
        provenance=label,
    )
    stage.save_metrics("text_confounding", table)


async def _note_vectors(stage: Stage, definition: NetworkDefinition, records: pd.DataFrame) -> tuple[NoteVectors, str]:
    """Vectors of the simulator's first notes for ``records``, and the provenance of text and vectors."""
    rules = load_rules()
    parents = {symptom: definition.parents(symptom) for symptom in rules.symptoms}
    notes, compact = gold_tables(write_gold(build_prompts(records, parents, rules, stage.params.seed)))
    marked = await stage.in_chunks(span_chunk, {"records": records, "notes": notes, "compact_notes": compact})
    stage.save_unscored("unscored_text_confounding", marked["unscored"], of=2 * len(records))
    embed_params = stage.params.embed
    encoder = load_encoder(embed_params.encoder, embed_params.precision, embed_params.device)
    encode = partial(encoder.encode, store=VectorStore(workspace() / "vectors.sqlite"))
    spans = marked["spans"][marked["spans"]["version"] == VERSION]
    vectors = NoteVectors(*embed(notes, compact.head(0), spans, encode))
    return vectors, f"{notes['provenance'].iloc[0]}, {encoder.label}"
