"""Phrases of which it is certain what they assert of a symptom, and how many an annotator reads rightly.

They are the spans of the simulated writer, which are present or absent only, and planted sentences: each sentence of
``assertions.yaml`` asserts one of the five classes and is inserted into the history of a note that does not mention the
symptom.
"""

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from schemas.tables.columns import NOTE_VERSIONS, typed
from schemas.tables.evaluation import ASSERTION_CASES
from schemas.tables.records import ASSERTIONS, SPANS
from tasks.judges.changes import words
from tasks.judges.simulated_notes import GoldNotes, gold_spans, gold_texts
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask
from tasks.simulator.truth import Truth
from tasks.spans.assertion import state_assertions
from tasks.statistics.metric_rows import metric_table, ratio_row
from tasks.text.sections import split_sections
from tasks.text.sentences import sentence_spans

WRITTEN, PLANTED = "assertion", "planted assertion"
"""Origins of a phrase: a span of the simulated writer, or a planted sentence."""


async def read_assertions(
    gold: GoldNotes, labels: Mapping[str, str], each: int, ask: Ask, *, seed: int
) -> tuple[pd.DataFrame, Unscored]:
    """All phrases with what ``ask`` says that they assert (ASSERTION_CASES), and unscored rows.

    ``labels``: the name in prompts by symptom. ``each``: planted sentences of every class.
    """
    texts = gold_texts(gold)
    written = gold_spans(gold)
    notes = [texts[version][record] for version, record in zip(written["version"], written["record"], strict=True)]
    written = written.assign(note=notes, origin=WRITTEN, sentence=None, truth=written["assertion"])
    first = max(gold["normal"], default=0) + 1
    planted = plant_assertions(gold["normal"], labels, each, first=first, seed=seed)
    texts["normal"] |= dict(zip(planted["record"].tolist(), planted["note"], strict=True))
    cases = typed([*written.to_dict("records"), *planted.to_dict("records")], ASSERTION_CASES)
    spans = typed(cases.assign(matched="exact", record_value=None, assertion=None), SPANS)
    asserted, failures = await state_assertions(spans, texts, labels, ask)
    return cases.assign(assertion=asserted["assertion"]), failures


def plant_assertions(
    notes: Mapping[int, Truth], labels: Mapping[str, str], each: int, *, first: int, seed: int
) -> pd.DataFrame:
    """ASSERTION_CASES without assertions: ``each`` planted sentences of every class, numbered from ``first`` on.

    Sentences and symptoms take turns. The note is a random one without a span of the symptom; a symptom that all notes
    mention is left out.
    """
    silent = {symptom: list(_silent(notes, symptom)) for symptom in labels}
    symptoms = [symptom for symptom, texts in silent.items() if texts]
    random = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for truth in ASSERTIONS if symptoms else ():
        sentences: list[str] = words("assertions")[truth]
        for number in range(each):
            turn, at = divmod(number, len(sentences))
            symptom = symptoms[(turn + at) % len(symptoms)]
            note = silent[symptom][int(random.integers(len(silent[symptom])))]
            case = {"record": first + len(rows), "symptom": symptom, "sentence": sentences[at], "truth": truth}
            about = {"version": "normal", "origin": PLANTED, "assertion": None}
            rows.append({**case, **about, **_planted(note, sentences[at], labels[symptom], random)})
    return typed(rows, ASSERTION_CASES)


def _silent(notes: Mapping[int, Truth], symptom: str) -> Iterator[str]:
    """The notes without a span of ``symptom``."""
    for _, note in sorted(notes.items()):
        if all(span.symptom != symptom for span in note.spans):
            yield note.text


def _planted(note: str, sentence: str, label: str, random: np.random.Generator) -> dict[str, object]:
    """``note`` with ``sentence`` behind a random one of its history, and the place of the phrase in brackets."""
    before, phrase, after = re.split(r"[\[\]]", sentence.format(symptom=label, Symptom=label[:1].upper() + label[1:]))
    history = split_sections(note)[0]
    ends = [end for _, end in sentence_spans(note) if history.start < end <= history.end] or [history.end]
    place = ends[int(random.integers(len(ends)))]
    start = place + 1 + len(before)
    return {
        "note": f"{note[:place]} {before}{phrase}{after}{note[place:]}",
        "start": start,
        "end": start + len(phrase),
        "text": phrase,
        "section": history.name,
    }


def assertion_accuracy(cases: pd.DataFrame, *, stage: str, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS ``right`` by origin and version: the share of phrases that are read rightly, by truth and in all.

    ``cases``: ASSERTION_CASES; those without an assertion count as unscored. The phrases of a note are one cluster, and
    so are those of a planted sentence, which is used with several symptoms.
    """
    tables = []
    for origin, version in ((origin, version) for origin in (WRITTEN, PLANTED) for version in NOTE_VERSIONS):
        every = cases[(cases["origin"] == origin) & (cases["version"] == version)]
        for item in (*ASSERTIONS, "all"):
            chosen = every[every["truth"].eq(item) | (item == "all")]
            part = chosen[chosen["assertion"].notna()]
            if part.empty:
                continue
            cluster = part["sentence"] if origin == PLANTED else part["record"]
            by_cluster = part["assertion"].eq(part["truth"]).groupby(cluster, sort=True).agg(["sum", "size"])
            row = ratio_row("right", by_cluster["sum"].to_numpy(dtype=float), by_cluster["size"].to_numpy(dtype=float))
            about = {"stage": stage, "system": "annotator", "condition": f"{origin}, {version}", "item": item}
            unscored = len(chosen) - len(part)
            tables.append(metric_table([row], **about, unscored=unscored, seed=seed, provenance=provenance))
    return pd.concat(tables, ignore_index=True) if tables else metric_table([])
