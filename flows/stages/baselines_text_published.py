"""Stage `baselines_text_published`: the text baselines at the published size, on the simulator's first notes."""

from functools import partial

import pandas as pd

from flows.engine.simulated_truth import gold_tables, write_gold
from flows.engine.span_chunk import span_chunk
from flows.engine.stage import Stage
from flows.engine.workspace import workspace
from schemas.tables.metrics import REPRODUCTION_ROWS
from schemas.tables.simsum import PRINTED_TABLE_5, PRINTED_TABLE_6
from tasks.baselines import bn_text, neural_text, neural_text_tab
from tasks.baselines.as_released import effect_rows
from tasks.baselines.note_vectors import NoteVectors, embed
from tasks.baselines.paired import paired_rows
from tasks.baselines.reproduction import mean_rows, text_rows
from tasks.baselines.scoring import metric_rows
from tasks.baselines.split import parts_of, split_records
from tasks.baselines.systems import compared_pairs, provenance_by_system
from tasks.baselines.targets import targets_of
from tasks.domains.rules import load_rules
from tasks.encoder import VectorStore, load_encoder
from tasks.network.definition import load_definition
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts


async def run(stage: Stage) -> None:
    """Sample, write, mark spans, embed and train; reproduce the cells and means of Tables 5 and 6."""
    params, seed = stage.params.baselines, stage.params.seed
    definition = load_definition(stage.dep("network"))
    records = sample(definition, stage.params.baselines_published.records, seed)
    parents = {symptom: definition.parents(symptom) for symptom in load_rules().symptoms}
    notes, compact = gold_tables(write_gold(build_prompts(records, parents, load_rules(), seed)))
    marked = await stage.in_chunks(span_chunk, {"records": records, "notes": notes, "compact_notes": compact})
    stage.save_unscored("unscored_baselines_text", marked["unscored"], of=2 * len(records))

    embed_params = stage.params.embed
    encoder = load_encoder(embed_params.encoder, embed_params.precision, embed_params.device)
    encode = partial(encoder.encode, store=VectorStore(workspace() / "vectors.sqlite"))
    vectors = NoteVectors(*embed(notes, compact, marked["spans"], encode))
    train, test = parts_of(records, split_records(records, test_share=params.test_share, seed=seed))
    told = neural_text.predict(definition, vectors, train, test, params)
    beside = neural_text_tab.predict(definition, vectors, train, test, params)
    combined = bn_text.predict(definition, vectors, told, train, test, params, seed)

    predictions = pd.concat([told, beside, combined], ignore_index=True)
    targets, settings = targets_of(definition), {"seed": seed, "draws": params.draws, "bins": params.bins}
    made_by = provenance_by_system(notes["provenance"].tolist(), encoder.label)
    scores = metric_rows(predictions, targets, **settings, provenance=made_by, unscored={})
    stage.save_metrics("baselines_text", scores)
    pairs = paired_rows(predictions, compared_pairs(), targets, **settings, provenance=made_by[neural_text.SYSTEM])
    effects = effect_rows(definition, vectors, train, test, params, seed=seed, provenance=made_by[neural_text.SYSTEM])
    stage.save_metrics("baselines_text_paired", pd.concat([pairs, effects], ignore_index=True))
    printed = stage.load("simsum_table5_f1", PRINTED_TABLE_5), stage.load("simsum_table6_f1", PRINTED_TABLE_6)
    rows = pd.concat([text_rows(scores, *printed), mean_rows(scores, *printed)], ignore_index=True)
    stage.save("reproduction_baselines_text", rows, REPRODUCTION_ROWS)
