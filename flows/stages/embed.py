"""Stage `embed`: a vector for each distinct sentence and span of the notes."""

import json
from functools import partial

from flows.arrays import write_vectors
from flows.runtime import Stage
from flows.tables import write_atomically
from flows.workspace import workspace
from schemas.tables.baselines import NOTE_SENTENCES, SPAN_VECTORS
from schemas.tables.notes import COMPACT_NOTES, NOTES
from schemas.tables.spans import SPANS
from tasks.baselines.note_vectors import embed
from tasks.encoder import VectorStore, load_encoder


async def run(stage: Stage) -> None:
    """Embed sentences and spans, those in the vector store excepted, and note which encoder it was."""
    params = stage.params.embed
    encoder = load_encoder(params.encoder, params.precision)
    encode = partial(encoder.encode, store=VectorStore(workspace() / "vectors.sqlite"))
    told, found, vectors = embed(
        stage.load("notes", NOTES), stage.load("compact_notes", COMPACT_NOTES), stage.load("spans", SPANS), encode
    )
    stage.save("note_sentences", told, NOTE_SENTENCES)
    stage.save("span_vectors", found, SPAN_VECTORS)
    write_vectors(vectors, stage.out("vectors"))
    identity = json.dumps(
        {"label": encoder.label, "identity": encoder.identity, "dimension": encoder.dimension}, indent=1
    )
    write_atomically(stage.out("encoder"), lambda to: to.write_text(identity + "\n", encoding="utf-8"))
