"""Stage `embed`: a vector for each distinct sentence and span of the notes."""

import json
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from flows.repository.workspace import VECTORS, workspace
from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from flows.runtime.tables import write_vectors
from schemas.errors import IdentityError
from schemas.params import Params
from tasks.baselines.note_vectors import embed, texts_of
from tasks.encoder import Encoder, VectorStore, load_encoder
from tasks.llm.calls import Asks


async def embed_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """The vectors of some texts, float32 as bytes; a vector's bits do not depend on the other texts of a chunk."""
    texts = list(frames["texts"]["text"])
    encoder = load_encoder(params.embed.encoder, params.embed.precision, params.embed.device)
    vectors = [vector.tobytes() for vector in encoder.encode(texts)]
    return {"vectors": pd.DataFrame({"text": texts, "vector": vectors, "identity": encoder.identity})}


async def _embed_on_cluster(stage: Stage, encoder: Encoder, store: VectorStore, texts: Sequence[str]) -> None:
    """Have workers embed those of ``texts`` that are not in the store, and store their vectors."""
    known = store.get(encoder.identity, texts, encoder.dimension)
    missing = pd.DataFrame({"text": [text for text in texts if text not in known]})
    if len(missing):
        done = (await stage.in_chunks(embed_chunk, {"texts": missing}, by="text"))["vectors"]
        if others := set(done["identity"]) - {encoder.identity}:
            raise IdentityError(
                f"embed: a worker computed with encoder {min(others)[:12]}, this process with {encoder.identity[:12]}; "
                "machines with and without a GPU differ, so set embed.device to cpu; start workers with the variables "
                "of the instruction set (docs/machines.md)"
            )
        vectors = np.frombuffer(b"".join(done["vector"]), dtype="<f4").reshape(-1, encoder.dimension)
        store.put(encoder.identity, done["text"].tolist(), vectors)


async def run(stage: Stage) -> None:
    """Embed the sentences and spans that are not in the vector store, and record the identity of the encoder."""
    params = stage.params.embed
    encoder = load_encoder(params.encoder, params.precision, params.device)
    tables = stage.load("notes"), stage.load("compact_notes"), stage.load("spans")
    store = VectorStore(workspace() / VECTORS)
    if stage.params.runtime.dask is not None:
        await _embed_on_cluster(stage, encoder, store, texts_of(*tables))
    sentences, found, vectors = embed(*tables, partial(encoder.encode, store=store))
    stage.save("note_sentences", sentences)
    stage.save("span_vectors", found)
    write_vectors(vectors, stage.out("vectors"))
    about = {"label": encoder.label, "identity": encoder.identity, "dimension": encoder.dimension}
    text = json.dumps(about, indent=1) + "\n"
    stage.save_text("encoder", text)
