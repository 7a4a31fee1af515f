"""Sentence vectors of the notes, and one embedding per note from its sentence vectors (Sections 3.2.1 and F.3)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from schemas.params.learning import TextDeviation
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.targets import Flags, Integers, Singles
from tasks.text.sections import split_sections
from tasks.text.sentences import sentences

Encode = Callable[[Sequence[str]], Singles]
"""Maps texts to vectors, float32 (n, dimension)."""

EMBEDDINGS = ("hist", "phys", "mean", "concat", "span")
"""Kinds of note embedding (Section 3.2.1); ``span`` is computed from the spans of one symptom."""


def embed(
    notes: pd.DataFrame, compact_notes: pd.DataFrame, spans: pd.DataFrame, encode: Encode
) -> tuple[pd.DataFrame, pd.DataFrame, Singles]:
    """NOTE_SENTENCES, SPAN_VECTORS and the vectors of the distinct sentences and spans, in alphabetical order."""
    split_notes = _sentences(notes, compact_notes)
    ordered = spans.sort_values(["record", "version", "symptom", "start", "end"], ignore_index=True)
    distinct = _distinct(split_notes, ordered)
    row = {text: number for number, text in enumerate(distinct)}
    keys = ["record", "version", "symptom"]
    span_vectors = pd.DataFrame(
        {
            **{key: ordered[key] for key in keys},
            "position": ordered.groupby(keys).cumcount().astype("int64"),
            "vector": ordered["text"].map(row).astype("int64"),
        }
    )
    note_sentences = split_notes.assign(vector=split_notes["text"].map(row).astype("int64")).drop(columns="text")
    return note_sentences, span_vectors, encode(distinct)


def texts_of(notes: pd.DataFrame, compact_notes: pd.DataFrame, spans: pd.DataFrame) -> list[str]:
    """The distinct texts that `embed` passes to its encoder, in order."""
    return _distinct(_sentences(notes, compact_notes), spans)


def _distinct(split_notes: pd.DataFrame, spans: pd.DataFrame) -> list[str]:
    return sorted({*split_notes["text"], *spans["text"]})


def _sentences(notes: pd.DataFrame, compact_notes: pd.DataFrame) -> pd.DataFrame:
    """Each sentence of each note with its section; no sentence crosses a section boundary."""
    rows: list[tuple[int, str, str, int, str]] = []
    for version, frame, column in zip(NOTE_VERSIONS, (notes, compact_notes), ("note", "compact"), strict=True):
        for record, note in zip(frame["record"], frame[column], strict=True):
            position = 0
            for section in split_sections(note):
                for sentence in sentences(note[section.start : section.end]):
                    rows.append((int(record), version, section.name, position, sentence))
                    position += 1
    frame = pd.DataFrame(rows, columns=["record", "version", "section", "position", "text"])
    return frame.astype({"record": "int64", "version": str, "section": str, "position": "int64", "text": str})


def noted_records(note_sentences: pd.DataFrame) -> set[int]:
    """Ids of the records that have a sentence in every note version; text models need both."""
    versions = note_sentences.groupby("record")["version"].nunique()
    return set(versions.index[versions == len(NOTE_VERSIONS)].tolist())


@dataclass(frozen=True)
class NoteVectors:
    """Sentence and span vectors of a set of notes."""

    note_sentences: pd.DataFrame
    span_vectors: pd.DataFrame
    vectors: Singles
    released: frozenset[TextDeviation] = frozenset()

    def as_released(self, deviations: Iterable[TextDeviation]) -> "NoteVectors":
        """The same vectors, embedded and scaled with these deviations of SimSUM's released code."""
        released, vectors = frozenset(deviations), self.vectors
        if "normalised sentences" in released:
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return replace(self, vectors=vectors, released=released)

    def inputs(self, kind: str, version: str, *records: Integers, symptom: str = "") -> list[Singles]:
        """Classifier inputs for train records and any other sets of records: embeddings, scaled on the first set."""
        embedded = [self.embedding(kind, version, part, symptom) for part in records]
        return embedded if "unscaled inputs" in self.released else scale_embeddings(*embedded)

    def embedding(self, kind: str, version: str, records: Integers, symptom: str = "") -> Singles:
        """One embedding per record, float32 (n, dimension), twice as wide for ``concat``.

        ``hist`` and ``phys`` are means over a section's sentences (zeros where the note lacks the section); a note
        without headings counts as history. ``mean`` is the mean of the sections that the note has. ``span`` is the mean
        over the spans of ``symptom``; where there is none, zeros, or ``mean`` as released.
        """
        if kind == "span":
            rows = self.span_vectors.query("version == @version and symptom == @symptom")
            span, has_span = self._means(rows, records)
            if "whole note without span" in self.released:
                span[~has_span] = self.embedding("mean", version, records)[~has_span]
            return span
        rows = self.note_sentences[self.note_sentences["version"] == version]
        examined = rows["section"] == "physical_examination"
        hist, has_hist = self._means(rows[~examined], records)
        phys, has_phys = self._means(rows[examined], records)
        if kind == "mean":
            parts = np.maximum(has_hist.astype(np.float32) + has_phys, 1)
            return ((hist + phys) / parts[:, None]).astype(np.float32)
        return {"hist": hist, "phys": phys, "concat": np.concatenate([hist, phys], axis=1)}[kind]

    def _means(self, rows: pd.DataFrame, records: Integers) -> tuple[Singles, Flags]:
        """Mean vector of each record's rows, and whether it has any."""
        index = pd.Index(records).get_indexer(pd.Index(rows["record"]))
        index, vector = index[index >= 0], rows["vector"].to_numpy()[index >= 0]
        counts = np.bincount(index, minlength=len(records))
        shares = (1 / counts[index]).astype(np.float32) if len(index) else np.zeros(0, np.float32)
        weights = csr_array((shares, (index, vector)), shape=(len(records), len(self.vectors)))
        return np.asarray(weights @ self.vectors, dtype=np.float32), counts > 0


def scale_embeddings(train: Singles, *others: Singles) -> list[Singles]:
    """``train`` (n, d) centred and scaled to unit RMS, and ``others`` with the same shift and scale.

    Appendix F.3 gives learning rates but no scale of the inputs, and encoders differ in it: means of unit vectors vary
    by about 0.015 per dimension, too little to train on at these rates. One factor for all dimensions keeps their
    proportions. Constant embeddings become 0.
    """
    mean = train.mean(axis=0, dtype=np.float64)
    factor = float(np.sqrt(np.mean((train - mean) ** 2))) or 1.0
    return [((part - mean) / factor).astype(np.float32) for part in (train, *others)]
