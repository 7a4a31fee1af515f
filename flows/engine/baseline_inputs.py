"""Loads the inputs that baseline stages share: train and test records, and note vectors."""

import json
from dataclasses import dataclass

import pandas as pd

from flows.engine.stage import Stage
from flows.engine.tables import read_vectors
from schemas.tables.baselines import NOTE_SENTENCES, SPAN_VECTORS, SPLIT
from schemas.tables.network import records_schema
from tasks.baselines.note_vectors import NoteVectors
from tasks.baselines.split import parts_of
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition


@dataclass(frozen=True)
class Parts:
    """The network's definition, train records and test records."""

    definition: NetworkDefinition
    train: pd.DataFrame
    test: pd.DataFrame


def load_parts(stage: Stage) -> Parts:
    """Load the records, divided by the split stage."""
    definition = load_definition(stage.dep("network"))
    records = stage.load("records", records_schema(definition))
    return Parts(definition, *parts_of(records, stage.load("split", SPLIT)))


def load_noted_parts(stage: Stage) -> tuple[Parts, NoteVectors]:
    """Load the parts, restricted to records with a note in every version, and the note vectors."""
    parts = load_parts(stage)
    vectors = NoteVectors(
        stage.load("note_sentences", NOTE_SENTENCES),
        stage.load("span_vectors", SPAN_VECTORS),
        read_vectors(stage.dep("vectors")),
    )
    noted = set(vectors.records().tolist())
    train, test = (part[part["record"].isin(noted)].reset_index(drop=True) for part in (parts.train, parts.test))
    return Parts(parts.definition, train, test), vectors


def encoder_label(stage: Stage) -> str:
    """The encoder's name, precision and identity, for provenance columns."""
    return str(json.loads(stage.dep("encoder").read_text(encoding="utf-8"))["label"])
