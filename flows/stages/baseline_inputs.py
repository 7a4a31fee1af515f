"""Loads the inputs that baseline stages share: train and test records, and note vectors."""

import json

from flows.runtime.stage import Stage
from flows.runtime.tables import read_vectors
from tasks.baselines.note_vectors import NoteVectors, noted_records
from tasks.baselines.targets import Parts, parts_of


def load_parts(stage: Stage) -> Parts:
    """Load the records, divided by the split stage."""
    return parts_of(stage.network, stage.load("records"), stage.load("split"))


def load_noted_parts(stage: Stage) -> tuple[Parts, NoteVectors]:
    """Load the parts, restricted to records with a note in every version, and the note vectors."""
    tables = stage.load("note_sentences"), stage.load("span_vectors")
    vectors = NoteVectors(*tables, read_vectors(stage.dep("vectors")))
    return load_parts(stage).only(noted_records(vectors.note_sentences)), vectors


def encoder_label(stage: Stage) -> str:
    """The encoder's name, precision and identity, for provenance columns."""
    return str(json.loads(stage.dep("encoder").read_text(encoding="utf-8"))["label"])
