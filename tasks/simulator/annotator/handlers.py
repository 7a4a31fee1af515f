"""Handlers of the annotator's tasks: each takes a request and returns the text of the reply."""

import json
import re
from collections.abc import Sequence
from typing import Any

from tasks.simulator.annotator import comparison, consistency, instructions, mapping
from tasks.simulator.annotator.correction import correct
from tasks.simulator.annotator.spans import Span, find_spans
from tasks.simulator.clinical.vocabulary import symptoms
from tasks.simulator.request import ChatRequest

_NAMES = re.compile(r"name is one of (\".*?\")(?=[,.]? (?:and|where)\b|\.)", re.DOTALL)


def check_consistency(request: ChatRequest) -> str:
    """Reply to ``check a clinical note for consistency``."""
    asked = instructions.read(request.tag("instructions"))
    found = consistency.departures(request.tag("note"), asked)
    said = "; ".join(departure.said for departure in found)
    explanation = said[:1].upper() + said[1:] + "." if said else ""
    return _json({"consistent": not found, "explanation": explanation})


def extract_spans(request: ChatRequest) -> str:
    """Reply to ``extract symptom spans``."""
    note = request.tag("note")
    names = _names(request)
    found = [p for p in find_spans(note) if p.symptom in names]
    return _json({"spans": [{"symptom": names[p.symptom], "text": text} for p, text in _unmistakable(note, found)]})


def map_to_compact(request: ChatRequest) -> str:
    """Reply to ``map phrases to the compact note``."""
    wanted = _strings(request.tag("phrases"))
    found = mapping.map_phrases(request.tag("note"), request.tag("compact"), wanted)
    return _json({"pairs": [{"phrase": p, "match": m} for p, m in zip(wanted, found, strict=True)]})


def check_same_meaning(request: ChatRequest) -> str:
    """Reply to ``check that mapped phrases mean the same``: the last reply's pairs, with differing matches emptied."""
    pairs = _last_pairs(request)
    for pair in pairs:
        if not mapping.same_meaning(pair["phrase"], pair["match"]):
            pair["match"] = ""
    return _json({"pairs": pairs})


def correct_phrases(request: ChatRequest) -> str:
    """Reply to ``correct phrases to the words of the note``."""
    note = request.tag("note")
    wanted = _strings(request.tag("phrases"))
    return _json({"corrections": [{"phrase": phrase, "correction": correct(note, phrase)} for phrase in wanted]})


def compare_compact(request: ChatRequest) -> str:
    """Reply to ``compare a compact note with the note``."""
    found = comparison.differences(request.tag("note"), request.tag("compact"))
    return _json({"same": not found, "differences": [{"kind": d.kind, "detail": d.detail} for d in found]})


def _json(reply: dict[str, Any]) -> str:
    return json.dumps(reply, ensure_ascii=False)


def _names(request: ChatRequest) -> dict[str, str]:
    """Map each symptom of the kernel to the name that the request uses for it."""
    system = " ".join(text for role, text in request.messages if role == "system")
    listed = _NAMES.search(system)
    wanted = re.findall(r'"([^"]+)"', listed.group(1)) if listed else list(symptoms())
    return {instructions.symptom(name): name for name in wanted}


def _unmistakable(note: str, found: Sequence[Span]) -> list[tuple[Span, str]]:
    """Return spans with their text, extended to the left until the text first occurs at the span."""
    texts, listed = [], set()
    for phrase in found:
        start = phrase.start
        while (phrase.symptom, note[start : phrase.end]) not in listed and note.find(note[start : phrase.end]) < start:
            before = re.search(r"\S+\s+$", note[:start])
            if before is None or "\n" in before.group():
                break
            start = before.start()
        listed.add((phrase.symptom, note[start : phrase.end]))
        texts.append((phrase, note[start : phrase.end]))
    return texts


def _strings(text: str) -> list[str]:
    """Parse a JSON list and keep its strings; empty when ``text`` is not a JSON list."""
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError:
        return []
    return [item for item in loaded if isinstance(item, str)] if isinstance(loaded, list) else []


def _last_pairs(request: ChatRequest) -> list[dict[str, str]]:
    """Return the pairs in the most recent assistant message that contains any."""
    for role, text in reversed(request.messages):
        if role != "assistant":
            continue
        try:
            pairs = json.loads(text)["pairs"]
            return [{"phrase": str(pair["phrase"]), "match": str(pair["match"])} for pair in pairs]
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    return []
