"""Phrases of which it is certain what they assert of a symptom, and how many an annotator reads rightly.

They are the spans of the simulated writer, which are present or absent only, and planted sentences: each sentence of
``assertions.yaml`` asserts one of the five classes and is inserted into the history of a note that does not mention the
symptom.
"""

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.records import ASSERTIONS, SPANS
from schemas.tables.verdicts import verdict_table
from tasks.judges.edits import words
from tasks.judges.simulated_notes import GoldNotes, gold_spans, gold_texts
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask
from tasks.measures.measure import Metric, Metrics
from tasks.simulator.truth import Truth
from tasks.spans.assertion import state_assertions
from tasks.text.sections import split_sections
from tasks.text.sentences import sentence_spans

WRITTEN, PLANTED = "assertion", "planted assertion"
"""Origins of a phrase: a span of the simulated writer, or a planted sentence."""
SYSTEM = "annotator"
COLUMNS = ["record", "version", "symptom", "start", "end", "text", "section", "note", "origin", "sentence", "truth"]
"""Of planted phrases: ``record`` numbers them beyond the records, ``sentence`` has the phrase in brackets."""


METRICS: Metrics = {"right": Metric(kind="pooled", meaning="share of phrases that are read rightly")}
"""By origin and version (condition) and class (item). The phrases of a note are one text, and so are those of a planted
sentence, which is used with several symptoms."""


async def read_assertions(
    gold: GoldNotes, labels: Mapping[str, str], each: int, ask: Ask, *, seed: int
) -> tuple[pd.DataFrame, Unscored]:
    """VERDICTS on all phrases, whether ``ask`` reads what they assert, and unscored rows.

    ``labels``: the name in prompts by symptom. ``each``: planted sentences of every class.
    """
    texts = gold_texts(gold)
    written = gold_spans(gold)
    notes = [texts[version][record] for version, record in zip(written["version"], written["record"], strict=True)]
    written = written.assign(note=notes, origin=WRITTEN, sentence=None, truth=written["assertion"])
    first = max(gold["normal"], default=0) + 1
    planted = plant_assertions(gold["normal"], labels, each, first=first, seed=seed)
    texts["normal"] |= dict(zip(planted["record"].tolist(), planted["note"], strict=True))
    cases = [*written.to_dict("records"), *planted.to_dict("records")]
    asked = [{**case, "matched": "exact", "record_value": None, "assertion": None} for case in cases]
    asserted, failures = await state_assertions(typed(asked, SPANS), texts, labels, ask)
    found, rows = asserted["assertion"], []
    for case, said in zip(cases, found.astype(object).where(found.notna(), None), strict=True):
        about = {"document": case["sentence"] or str(case["record"]), "system": SYSTEM, "item": case["truth"]}
        about |= {"condition": f"{case['origin']}, {case['version']}", "metric": "right", "text": case["text"]}
        unit = "/".join(str(case[name]) for name in ("record", "version", "symptom", "start"))
        value = None if said is None else float(said == case["truth"])
        rows.append({**about, "unit": unit, "value": value, "verdict": said, "truth": 1.0, "kind": case["truth"]})
    return verdict_table(rows, judge=ask.label), failures


def plant_assertions(
    notes: Mapping[int, Truth], labels: Mapping[str, str], each: int, *, first: int, seed: int
) -> pd.DataFrame:
    """Phrases (`COLUMNS`): ``each`` planted sentences of every class, numbered from ``first`` on.

    Sentences and symptoms take turns. The note is a random one without a span of the symptom; a symptom that all notes
    mention is left out.
    """
    known = [(note.text, {span.symptom for span in note.spans}) for _, note in sorted(notes.items())]
    silent = {symptom: [text for text, mentioned in known if symptom not in mentioned] for symptom in labels}
    symptoms = [symptom for symptom, texts in silent.items() if texts]
    random = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for truth in ASSERTIONS if symptoms else ():
        sentences: list[str] = words("assertions", "tasks.audit")[truth]
        for number in range(each):
            turn, at = divmod(number, len(sentences))
            symptom = symptoms[(turn + at) % len(symptoms)]
            note = silent[symptom][int(random.integers(len(silent[symptom])))]
            case = {"record": first + len(rows), "symptom": symptom, "sentence": sentences[at], "truth": truth}
            about = {"version": "normal", "origin": PLANTED}
            rows.append({**case, **about, **_planted(note, sentences[at], labels[symptom], random)})
    return pd.DataFrame(rows, columns=COLUMNS)


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
