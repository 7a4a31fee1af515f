"""Write texts with citations: compact notes, impressions, notes of dialogues, short questions; and summaries without.

Extractive: each sentence is a shortened, numbered sentence of the input, cited with errors like those of models. Shares
nothing with the judge.
"""

import hashlib
import re

from tasks.simulator.request import ChatRequest, numbered
from tasks.simulator.resources import load
from tasks.text.shorthand import shorten

_WORDS = load("writer", "citing")
_TURN = re.compile(r"^\[?(?P<speaker>doctor|patient|patient_guest)\]?\s*(?P<said>.*)$", re.IGNORECASE)
_HEADING = re.compile(r"^\W*(history|physical exam\w*)\W*$", re.IGNORECASE)
_FILLER = re.compile(r"\b(?:um|uh|you know|okay|yeah|well|so)\b\s*,?\s*", re.IGNORECASE)
_PERSONS = [(re.compile(own, re.IGNORECASE), other) for own, other in _WORDS["persons"].items()]
_BY_WORDS = {name: re.compile(words, re.IGNORECASE) for name, words in _WORDS["sections"].items()}
_SECTIONS = ("SUBJECTIVE", "PHYSICAL EXAM", "RESULTS", "ASSESSMENT AND PLAN")
_DROPPED = 0.08  # share of input sentences that a compact note omits
REDUNDANT, WRONG, MISSING = 0.10, 0.04, 0.03  # shares of statements with erroneous citations


def chance(*parts: object) -> float:
    """Return a number in [0, 1) determined by ``parts``."""
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _cited(statement: str, number: int, total: int, *parts: object) -> str:
    """Return a statement with the number of its sentence among ``total``; the citation is occasionally erroneous."""
    draw = chance("slip", number, *parts)
    other = (number + 1) % total if total > 1 else number
    citation = f" [{number}]"
    if draw < MISSING:
        citation = ""
    elif draw < MISSING + WRONG:
        citation = f" [{other}]"
    elif draw < MISSING + WRONG + REDUNDANT and other != number:
        citation += f" [{other}]"
    return f"{statement.rstrip(' .!?')}{citation}."


def cited_sentences(request: ChatRequest) -> str:
    """Reply with most sentences of a note or of findings in shorthand, each with its number; headings are kept."""
    lines = numbered(request.tag("note", request.tag("findings", "")))
    written = []
    for number, sentence in lines:
        if _HEADING.match(sentence):
            written.append(f"\n{sentence}")
        elif chance("drop", number, sentence, request.seed) >= _DROPPED:
            written.append(_cited(shorten(sentence), number, len(lines), sentence, request.seed))
    return "\n".join(written).strip()


def cited_note(request: ChatRequest) -> str:
    """Reply with sentences of the dialogue sorted into sections, each with its line number."""
    lines = numbered(request.tag("dialogue"))
    wanted = request.tag("section", "full").strip()
    sections: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    for number, line in lines:
        for section, sentence in _sorted_turn(line):
            sections[section].append(_cited(sentence, number, len(lines), sentence, request.seed))
    names = _SECTIONS if wanted == "full" else tuple(name for name in _SECTIONS if name == wanted.upper())
    return "\n\n".join(f"{name}\n\n" + "\n".join(sections[name]) for name in names if sections[name])


def _sorted_turn(line: str) -> list[tuple[str, str]]:
    match = _TURN.match(line)
    if match is None:
        return []
    parts = [
        part.strip() for part in re.split(r"(?<=[.?!])\s+", match["said"]) if len(part.split()) >= 6 and "?" not in part
    ]
    if match["speaker"].lower() != "doctor":
        return [("SUBJECTIVE", _third_person(part)) for part in parts]
    sections = [next((name for name, words in _BY_WORDS.items() if words.search(part)), None) for part in parts]
    return [(name, _third_person(part)) for name, part in zip(sections, parts, strict=True) if name is not None]


def _third_person(sentence: str) -> str:
    sentence = _FILLER.sub("", sentence)
    for own, other in _PERSONS:
        sentence = own.sub(other, sentence)
    sentence = " ".join(re.sub(r"\s+([,.])", r"\1", sentence).split()).strip(" ,")
    return sentence[:1].upper() + sentence[1:]


def cited_question(request: ChatRequest) -> str:
    """Reply with the last question of the input, or else its longest sentence, with its number."""
    lines = numbered(request.tag("question"))
    if not lines:
        return ""
    asking = [line for line in lines if "?" in line[1]]
    number, sentence = asking[-1] if asking else max(lines, key=lambda line: len(line[1]))
    return f"{sentence.rstrip(' .!?')} [{number}]?"


def subjective_summary(request: ChatRequest) -> str:
    """Reply with the patient's statements in the third person, without citations or short remarks."""
    kept = []
    for line in request.tag("dialogue").split("\n"):
        line = re.sub(r"^\[\d+\]\s*", "", line.strip())
        for section, sentence in _sorted_turn(line):
            if section == "SUBJECTIVE" and chance("drop", sentence, request.seed) >= _DROPPED:
                kept.append(f"{sentence.rstrip(' .')}.")
        if re.search(r"years?[- ]old", line):
            match = _TURN.match(line)
            kept.insert(0, _third_person(match["said"] if match else line))
    return "SUBJECTIVE\n\n" + " ".join(kept) if kept else ""
