"""From notes to sentence vectors, and from sentence vectors to one embedding a note (Sections 3.2.1 and F.3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from schemas.tables.columns import NOTE_VERSIONS
from tasks.text.sections import split_sections
from tasks.text.sentences import sentences

Singles = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Singles]
"""Texts to vectors, float32 (n, dimension)."""

EMBEDDINGS = ("hist", "phys", "mean", "concat", "span")
"""Kinds of note embedding (Section 3.2.1); the last one is of a symptom's spans."""


def embed(
    notes: pd.DataFrame, compact_notes: pd.DataFrame, spans: pd.DataFrame, encode: Encode
) -> tuple[pd.DataFrame, pd.DataFrame, Singles]:
    """NOTE_SENTENCES, SPAN_VECTORS and the vectors of the distinct sentences and spans, in alphabetical order."""
    stretches = pd.concat(
        [_sentences_of(notes, "note", NOTE_VERSIONS[0]), _sentences_of(compact_notes, "compact", NOTE_VERSIONS[1])],
        ignore_index=True,
    )
    marked = spans.sort_values(["record", "version", "symptom", "start", "end"], ignore_index=True)
    distinct = sorted({*stretches["text"], *marked["text"]})
    row = {text: number for number, text in enumerate(distinct)}
    keys = ["record", "version", "symptom"]
    found = pd.DataFrame(
        {
            **{key: marked[key] for key in keys},
            "position": marked.groupby(keys).cumcount().astype("int64"),
            "vector": marked["text"].map(row).astype("int64"),
        }
    )
    told = stretches.assign(vector=stretches["text"].map(row).astype("int64")).drop(columns="text")
    return told, found, encode(distinct)


def texts_of(notes: pd.DataFrame, compact_notes: pd.DataFrame, spans: pd.DataFrame) -> list[str]:
    """The distinct texts that `embed` has encoded, in their order."""
    seen: list[str] = []

    def listen(texts: Sequence[str]) -> Singles:
        seen.extend(texts)
        return np.zeros((0, 0), dtype=np.float32)

    embed(notes, compact_notes, spans, listen)
    return seen


def _sentences_of(notes: pd.DataFrame, column: str, version: str) -> pd.DataFrame:
    """Each sentence of each note with its section; sentences never run over a section's end."""
    rows: list[tuple[int, str, str, int, str]] = []
    for record, note in zip(notes["record"], notes[column], strict=True):
        position = 0
        for section in split_sections(note):
            for sentence in sentences(note[section.start : section.end]):
                rows.append((int(record), version, section.name, position, sentence))
                position += 1
    frame = pd.DataFrame(rows, columns=["record", "version", "section", "position", "text"])
    return frame.astype({"record": "int64", "version": str, "section": str, "position": "int64", "text": str})


@dataclass(frozen=True)
class NoteVectors:
    """Sentence and span vectors of a set of notes, averaged on demand."""

    note_sentences: pd.DataFrame
    span_vectors: pd.DataFrame
    vectors: Singles

    def records(self) -> npt.NDArray[np.int64]:
        """Records with a sentence in every version, sorted: those that text models can be trained and tested on."""
        versions = self.note_sentences.groupby("record")["version"].nunique()
        return np.sort(versions.index[versions == len(NOTE_VERSIONS)].to_numpy(dtype=np.int64))

    def embedding(self, kind: str, version: str, records: npt.NDArray[np.int64], symptom: str = "") -> Singles:
        """One embedding a record, float32 (n, dimension), twice as wide for ``concat``.

        ``hist`` and ``phys`` are means over a section's sentences (a note without the section: zeros); a note without
        any heading counts as history. ``mean`` is the mean of the two where both are there. ``span`` is the mean over
        the spans of ``symptom`` (none: zeros).
        """
        if kind == "span":
            rows = self.span_vectors.query("version == @version and symptom == @symptom")
            return self._means(rows, records)[0]
        rows = self.note_sentences[self.note_sentences["version"] == version]
        examined = rows["section"] == "physical_examination"
        hist, has_hist = self._means(rows[~examined], records)
        phys, has_phys = self._means(rows[examined], records)
        if kind == "mean":
            parts = np.maximum(has_hist.astype(np.float32) + has_phys, 1)
            return ((hist + phys) / parts[:, None]).astype(np.float32)
        return {"hist": hist, "phys": phys, "concat": np.concatenate([hist, phys], axis=1)}[kind]

    def _means(self, rows: pd.DataFrame, records: npt.NDArray[np.int64]) -> tuple[Singles, npt.NDArray[np.bool_]]:
        """Mean vector of each record's rows, and whether it has any."""
        place = pd.Index(records).get_indexer(pd.Index(rows["record"]))
        place, vector = place[place >= 0], rows["vector"].to_numpy()[place >= 0]
        counts = np.bincount(place, minlength=len(records))
        shares = (1 / counts[place]).astype(np.float32) if len(place) else np.zeros(0, np.float32)
        weights = csr_array((shares, (place, vector)), shape=(len(records), len(self.vectors)))
        return np.asarray(weights @ self.vectors, dtype=np.float32), counts > 0
