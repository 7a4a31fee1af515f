"""Stage `embed`: a vector for each distinct sentence and span of the notes."""

import json
from collections.abc import Callable
from functools import partial

import pandas as pd

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from flows.engine.tables import write_atomically, write_vectors
from flows.engine.workspace import workspace
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.baselines import NOTE_SENTENCES, SPAN_VECTORS
from schemas.tables.notes import COMPACT_NOTES, NOTES
from schemas.tables.spans import SPANS
from tasks.baselines.note_vectors import embed, texts_of
from tasks.encoder import VectorStore, load_encoder
from tasks.llm.calls import Ask

VECTORS = "vectors.sqlite"


async def embed_chunk(frames: Frames, ask: Callable[[RoleName], Ask], params: Params) -> Frames:
    """Put the vectors of some texts into the store that all processes share; a vector's bits do not depend on who."""
    store = VectorStore(workspace() / VECTORS)
    try:
        load_encoder(params.embed.encoder, params.embed.precision).encode(list(frames["texts"]["text"]), store=store)
    finally:
        store.close()
    return {"texts": frames["texts"]}


async def run(stage: Stage) -> None:
    """Embed the sentences and spans that are not in the vector store, and record the identity of the encoder."""
    params = stage.params.embed
    encoder = load_encoder(params.encoder, params.precision)
    tables = stage.load("notes", NOTES), stage.load("compact_notes", COMPACT_NOTES), stage.load("spans", SPANS)
    if stage.params.runtime.dask is not None:
        await stage.in_chunks(embed_chunk, {"texts": pd.DataFrame({"text": texts_of(*tables)})}, by="text")
    encode = partial(encoder.encode, store=VectorStore(workspace() / VECTORS))
    told, found, vectors = embed(*tables, encode)
    stage.save("note_sentences", told, NOTE_SENTENCES)
    stage.save("span_vectors", found, SPAN_VECTORS)
    write_vectors(vectors, stage.out("vectors"))
    identity = json.dumps(
        {"label": encoder.label, "identity": encoder.identity, "dimension": encoder.dimension}, indent=1
    )
    write_atomically(stage.out("encoder"), lambda to: to.write_text(identity + "\n", encoding="utf-8"))
