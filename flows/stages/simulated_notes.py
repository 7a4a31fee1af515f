"""First notes of the simulator about fresh records, which stages at the published size share, with their vectors."""

from dataclasses import dataclass
from functools import partial

import pandas as pd

from flows.runtime.stage import Stage
from flows.runtime.workspace import workspace
from flows.stages.span import span_chunk
from tasks.baselines.note_vectors import NoteVectors, embed
from tasks.domains.rules import rules_of
from tasks.encoder import VectorStore, load_encoder
from tasks.judges.simulated_notes import GoldNotes, gold_tables, write_gold
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts


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
    encode = partial(encoder.encode, store=VectorStore(workspace() / "vectors.sqlite"))
    return NoteVectors(*embed(notes, compact, spans, encode)), encoder.label
