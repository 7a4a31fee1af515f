"""Decompose texts: notes into claims, notes and dialogues into facts, by clause."""

import json
import re

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.content_words import read
from tasks.simulator.judge.lexicon import lexicon, stem
from tasks.simulator.request import ChatRequest
from tasks.text.sentences import sentences

_BULLET = re.compile(r"^\s*(?:[•\-*#>]+|\d{1,2}[.)])\s*")
_LABEL = re.compile(r"^(?P<label>[A-Za-z][^:.\n]{0,60}):\s*(?P<rest>.+)$")
_MARKS = re.compile(r"\*+|__|\[\d+\]")
_CLAUSE = re.compile(
    r";\s+|,?\s+(?:but|however|although)\s+"
    r"|,?\s+and\s+(?=(?:he|she|they|it|the patient|is|are|was|were|has|had|have|denies|reports|notes|states|will|does"
    r"|did|no|there|his|her|advised|continues?)\b)",
    re.IGNORECASE,
)
_TURN = re.compile(r"^\s*(?:\[\d+\]\s*)?\[?(?P<speaker>doctor|patient|patient_guest)\]?\s*:?\s*(?P<said>.*)$", re.I)
_FILLER = re.compile(
    r"\b(?:um+|uh+|ah|mm-?hmm|hmm|you know|i mean|okay|all right|so|well|yeah|yes|no|nope|hey)\b[ ,.]*"
)
_YES = re.compile(r"^\W*(?:yes|yeah|yep|i do|i have|i did|it does|mm-?hmm|correct|right|sure)\b", re.IGNORECASE)
_NO = re.compile(r"^\W*(?:no|nope|not really|none|never|i don't|i do n't|i haven't|i have n't)\b", re.IGNORECASE)
_SOCIAL = frozenset(
    ["work", "live", "marri", "wife", "husband", "insur", "job", "school", "famili", "transport", "afford"]
)


def claims_of(text: str) -> list[str]:
    """Return the claims of a note in order, without duplicates: clauses, prefixed by their line's label."""
    found: dict[str, None] = {}
    for line in text.split("\n"):
        line = _MARKS.sub("", _BULLET.sub("", line)).strip()
        match = _LABEL.match(line)
        label, rest = (f"{match['label']}: ", match["rest"]) if match else ("", line)
        for sentence in sentences(rest):
            for clause in _CLAUSE.split(sentence):
                if clause and _says_something(clause) and not _is_heading(clause, label):
                    found.setdefault(f"{label}{clause.strip(' ,;')}", None)
    return list(found)


def _says_something(clause: str) -> bool:
    return bool(read(clause))


def _is_heading(clause: str, label: str) -> bool:
    return not label and len(clause.split()) <= 4 and (clause.isupper() or clause.endswith(":") or clause.istitle())


def list_subclaims(request: ChatRequest) -> str:
    """Reply with the claims of the text as JSON, without those listed before and up to the prompt's limit."""
    limit = re.search(r"at most (\d+) claims", request.last)
    listed = {line.removeprefix("- ") for line in request.tag("listed", "").split("\n")}
    left = [claim for claim in claims_of(request.tag("text")) if claim.strip() not in listed]
    return json.dumps({"claims": left[: int(limit.group(1)) if limit else None]})


def list_facts(request: ChatRequest) -> str:
    """Reply with the facts of a note or dialogue as JSON, in the prompt's three lists."""
    text = request.tag("text")
    found = dialogue_facts(text) if is_dialogue(text) else claims_of(text)
    lists: dict[str, list[str]] = {"medical": [], "access_and_social": [], "other": []}
    for fact in found:
        lists[_kind(fact)].append(fact)
    return json.dumps(lists)


def is_dialogue(text: str) -> bool:
    """Whether most lines are turns of a dialogue."""
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(_TURN.match(line) is not None for line in lines) > len(lines) / 2


def dialogue_facts(dialogue: str) -> list[str]:
    """Return the statements of the patient, including confirmed or denied questions, as facts about the patient."""
    found: dict[str, None] = {}
    asked = ""
    for line in dialogue.split("\n"):
        match = _TURN.match(line)
        if match is None:
            continue
        said = match["said"].strip()
        if match["speaker"].lower() == "doctor":
            asked = _last_question(said)
            if len(said.split()) > 12 and "?" not in said:
                asked = ""
            for statement in _introduction(said):
                found.setdefault(statement, None)
            continue
        for fact in _patient_facts(said, asked):
            found.setdefault(fact, None)
    return list(found)


def _last_question(said: str) -> str:
    questions = [part for part in re.split(r"(?<=[.?!])\s+", said) if "?" in part]
    return questions[-1] if questions else ""


def _introduction(said: str) -> list[str]:
    """Return the physician's introduction of the patient."""
    if not re.search(r"\byears?[- ]old\b|\bpast medical history\b", said):
        return []
    return [part.strip() for part in re.split(r"(?<=[.?!])\s+", said) if re.search(r"years?[- ]old|past medical", part)]


def _patient_facts(said: str, asked: str) -> list[str]:
    facts = []
    if asked and _clinical(asked):
        topic = _FILLER.sub("", asked).strip(" ?,.")
        if _NO.match(said):
            facts.append(f"The patient denies: {topic}.")
        elif _YES.match(said) and len(said.split()) <= 6:
            facts.append(f"The patient confirms: {topic}.")
    for part in re.split(r"(?<=[.?!])\s+", said):
        statement = _FILLER.sub("", part).strip(" ,.")
        if len(statement.split()) >= 4 and _clinical(statement):
            facts.append(f"The patient says: {statement}.")
    return facts


def _clinical(text: str) -> bool:
    return any(word.kind in ("body", "drug") or _is_finding(word.key) for word in read(text))


def _is_finding(key: str) -> bool:
    return key in _findings()


@domain_cache(maxsize=1)
def _findings() -> frozenset[str]:
    return frozenset(stem(word) for word in set(lexicon().same.values()))


def _kind(fact: str) -> str:
    keys = {word.key for word in read(fact)}
    if keys & _findings() or _clinical(fact):
        return "medical"
    return "access_and_social" if keys & _SOCIAL else "other"
