"""Stages on fresh records with notes by the simulator's rules: text baselines, confounding, training data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from flows.repository.workspace import VECTORS, workspace
from flows.runtime.stage import Stage
from flows.stages.span import span_chunk
from schemas.errors import NetworkError
from schemas.params import Params
from schemas.tables.columns import NOTE_VERSIONS
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
from tasks.baselines.tagger import (
    MarkedNote,
    annotator_rows,
    assertion_table,
    training_data_table,
    with_assertion,
)
from tasks.baselines.targets import parts_of, split_records
from tasks.confounding.coverage import Pool, adjustment_designs, confounding_table, estimates
from tasks.domains.rules import rules_of
from tasks.encoder import VectorStore, load_encoder
from tasks.encoder.encoder import word_encoder
from tasks.judges.simulated_notes import PROVENANCE, GoldNotes, gold_spans, gold_tables, write_gold
from tasks.judges.span_agreement import REAL_NOTES, SymptomSpan, read_real_notes, real_notes_file
from tasks.llm.calls import unscored_table
from tasks.network.causal import exact_effect, question_of
from tasks.network.evidence import evidence_columns
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.statistics.metric_rows import metric_table


@dataclass(frozen=True)
class SimulatedNotes:
    """``records`` with their notes in both versions, the annotator's ``spans``, and records of which some failed."""

    records: pd.DataFrame
    gold: GoldNotes
    notes: pd.DataFrame
    compact: pd.DataFrame
    spans: pd.DataFrame
    failed: frozenset[str]


async def simulated_notes(stage: Stage, size: int, unscored: str) -> SimulatedNotes:
    """Sample ``size`` records, write their notes, have their spans marked; failures go to the table ``unscored``."""
    rules, seed = rules_of(stage.params.domain), stage.params.seed
    records = sample(stage.network, size, seed)
    gold = write_gold(build_prompts(records, stage.network, rules, seed))
    notes, compact = gold_tables(gold)
    marked = await stage.in_chunks(span_chunk, {"records": records, "notes": notes, "compact_notes": compact})
    stage.save_unscored(unscored, marked["unscored"], of=2 * size)
    return SimulatedNotes(records, gold, notes, compact, marked["spans"], frozenset(marked["unscored"]["record"]))


def encoded(stage: Stage, notes: pd.DataFrame, compact: pd.DataFrame, spans: pd.DataFrame) -> tuple[NoteVectors, str]:
    """Vectors of the notes' sentences and spans, and the encoder's label."""
    params = stage.params.embed
    encoder = load_encoder(params.encoder, params.precision, params.device)
    encode = partial(encoder.encode, store=VectorStore(workspace() / VECTORS))
    return NoteVectors(*embed(notes, compact, spans, encode)), encoder.label


async def run_baselines_text_published(stage: Stage) -> None:
    """Sample, write, mark spans, embed and train the text models of Tables 5 and 6, and compare them."""
    params, seed = stage.params.baselines, stage.params.seed
    made = await simulated_notes(stage, stage.params.baselines_published.records, "unscored_baselines_text")
    vectors, encoder = encoded(stage, made.notes, made.compact, made.spans)
    split = split_records(made.records, test_share=params.test_share, seed=seed)
    parts = parts_of(stage.network, made.records, split)
    text = neural_text.predict(parts, vectors, params)
    text_tab = neural_text.predict_with_tables(parts, vectors, params)
    combined = bn_text.predict(parts, vectors, text, params, seed)

    predictions = pd.concat([text, text_tab, combined], ignore_index=True)
    swaps = Swaps(seed, params.draws)
    made_by = provenance_by_system(made.notes["provenance"].tolist(), encoder)
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
    made = await simulated_notes(stage, params.pool, "unscored_text_confounding")
    spans = made.spans[made.spans["version"] == VERSION]
    vectors, encoder = encoded(stage, made.notes, made.compact.head(0), spans)
    records, symptoms = made.records, rules_of(stage.params.domain).symptoms
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
    pool = Pool(designs, treated, records[question.outcome].to_numpy(dtype=np.float64))
    found = estimates(pool, draws=params.draws, size=params.size, folds=params.folds, repeats=params.repeats, seed=seed)
    table = confounding_table(
        found,
        exact_effect(definition, question),
        pool=params.pool,
        size=params.size,
        seed=seed,
        item=f"{question.treatment} on {question.outcome}",
        provenance=f"{made.notes['provenance'].iloc[0]}, {encoder}",
    )
    stage.save_metrics("text_confounding", table)


def reads_training_data(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [REAL_NOTES]


async def run_training_data(stage: Stage) -> None:
    """Write notes, extract their spans, encode, train and test; an empty table without the published notes."""
    params, file = stage.params, real_notes_file(stage.sources)
    if file is None:
        stage.save_unscored("unscored_training_data", unscored_table([]), of=0)
        stage.save_metrics("training_data", metric_table([]))
        return
    encode = word_encoder(params.embed.encoder, params.training_data.layer, params.embed.device)
    published = [
        MarkedNote(note.record, version, note.text[version], encode(note.text[version]), note.spans[version])
        for note in read_real_notes(file)
        for version in NOTE_VERSIONS
    ]
    sizes, rules = params.training_data, rules_of(params.domain)
    made = await simulated_notes(stage, sizes.sizes[-1] + sizes.held_out, "unscored_training_data")
    true = gold_spans(made.gold)
    notes = [
        MarkedNote(record, version, known.text, encode(known.text), ())
        for version, gold in made.gold.items()
        for record, known in gold.items()
    ]
    whole = [note for note in notes if str(note.record) not in made.failed]
    mark = partial(_marked, labels=rules.labels)
    symptoms = [rules.labels[symptom] for symptom in rules.symptoms]
    about: dict[str, Any] = {
        "seed": params.seed,
        "provenance": f"{PROVENANCE}, {params.embed.encoder}, layer {sizes.layer}, {stage.provenance(['annotator'])}",
    }
    tables = [
        training_data_table(mark(notes, true), mark(whole, made.spans), published, symptoms, sizes, **about),
        assertion_table(
            mark(notes, true, asserted=True), mark(whole, made.spans, asserted=True), symptoms, sizes, **about
        ),
        annotator_rows(stage.load_metrics("annotator_quality")),
    ]
    stage.save_metrics("training_data", pd.concat(tables, ignore_index=True))


def _marked(
    notes: Sequence[MarkedNote], spans: pd.DataFrame, labels: Mapping[str, str], *, asserted: bool = False
) -> list[MarkedNote]:
    """The notes with ``spans`` (SPANS), named as in the published notes, or by symptom and assertion."""
    of_note: dict[tuple[int, str], list[SymptomSpan]] = {}
    for row in spans.itertuples():
        label = labels[str(row.symptom)]
        name = with_assertion(label, str(row.assertion)) if asserted else label
        of_note.setdefault((row.record, row.version), []).append(SymptomSpan(name, row.start, row.end))
    return [replace(note, spans=tuple(of_note.get((note.record, note.version), []))) for note in notes]
