"""Matching phrases to offsets, compared with the pattern of SimSUM's released notebook and with difflib."""

import asyncio
import difflib
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tasks.domains.rules import load_rules
from tasks.llm.calls import Call, Message
from tasks.notes.prompting import build_prompts, system_message
from tasks.text.sentences import sentence_spans
from tests.support.corrupt import corrupt_lightly, elide
from tests.support.direct import DirectAsk
from tests.support.phrases import match_phrase
from tests.support.records import NETWORK, random_records

Place = tuple[int, int] | None
Case = tuple[str, str, tuple[int, int]]  # note, corrupted phrase, true place
RECORDS = 150


def benches() -> Iterator[dict[str, Any]]:
    """Correct and wrong matches and speed, on corrupted sentences of the simulator's notes."""
    for name, corrupt in (("light corruption", corrupt_lightly), ("a stretch left out", elide)):
        cases = make_cases(corrupt)
        ours, ours_wrong, ours_speed = score(_ours, cases)
        for peer_name, peer in (("pattern with optional punctuation", _pattern), ("difflib longest block", _difflib)):
            theirs, theirs_wrong, speed = score(peer, cases)
            row = {"peer_name": peer_name, "n": len(cases)}
            case = f"{name}, beside a {peer_name}"
            yield row | _figures(f"phrases matched rightly, {case}", ours, theirs, ours / max(theirs, 1e-9), "share")
            wrong = (theirs_wrong + 1) / (ours_wrong + 1)
            yield row | _figures(f"phrases matched wrongly, {case}", ours_wrong, theirs_wrong, wrong, "phrases")
            yield row | _figures(f"phrases matched a second, {case}", ours_speed, speed, ours_speed / speed, "1/s")


def make_cases(corrupt: Callable[[str, np.random.Generator], str]) -> list[Case]:
    """Corrupted sentences that occur once in their note."""
    draw, cases = np.random.default_rng(7), []
    for note in _notes():
        for start, end in sentence_spans(note):
            sentence = note[start:end].rstrip(".").lstrip("- ")
            start = end - len(note[start:end].lstrip("- "))
            if len(sentence.split()) >= 3 and note.count(sentence) == 1 and "*" not in sentence:
                cases.append((note, corrupt(sentence, draw), (start, start + len(sentence))))
    return cases


def score(find: Callable[[str, str], Place], cases: list[Case]) -> tuple[float, int, float]:
    """(share matched at the true offsets, number matched elsewhere, phrases per second)."""
    begun = time.perf_counter()
    found = [find(note, phrase) for note, phrase, _ in cases]
    seconds = time.perf_counter() - begun
    right = [place == case[2] for place, case in zip(found, cases, strict=True)]
    wrong = sum(place is not None and not hit for place, hit in zip(found, right, strict=True))
    return sum(right) / len(cases), wrong, len(cases) / seconds


def _ours(note: str, phrase: str) -> Place:
    match = match_phrase(note, phrase)
    return None if match is None else (match.start, match.end)


def _pattern(note: str, phrase: str) -> Place:
    """Any punctuation for white space, ``...`` for anything, ignoring case; the first match counts."""
    words = [re.escape(word) for word in phrase.split()]
    pattern = r"\W*".join(".+?" if word == re.escape("...") else word for word in words)
    found = re.search(pattern, note, re.IGNORECASE)
    return found.span() if found else None


def _difflib(note: str, phrase: str) -> Place:
    """From the first to the last matching block, where the blocks cover nine tenths of the phrase."""
    blocks = difflib.SequenceMatcher(None, note.lower(), phrase.lower(), autojunk=False).get_matching_blocks()[:-1]
    if not blocks or sum(block.size for block in blocks) < 0.9 * len(phrase):
        return None
    return blocks[0].a, blocks[-1].a + blocks[-1].size


def _notes() -> list[str]:
    prompts = build_prompts(random_records(RECORDS), NETWORK, load_rules(), seed=7)["single_prompt"]
    calls = [Call(str(n), (system_message(), Message("user", text)), sample=n) for n, text in enumerate(prompts)]
    return [answer.text or "" for answer in asyncio.run(DirectAsk("vignette-writer", 1.2)(calls))]


def _figures(name: str, ours: float, peer: float, ratio: float, unit: str) -> dict[str, Any]:
    return {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "unit": unit}
