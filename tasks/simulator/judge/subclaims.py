"""Decompose texts: notes into claims, notes and dialogues into facts, by clause; and find where a history ends."""

import json
import re

from tasks.domains.in_use import domain_cache
from tasks.simulator.judge.lexicon import lexicon, stem
from tasks.simulator.judge.premise import BULLET, numbered
from tasks.simulator.judge.scopes import read
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary
from tasks.text.sentences import sentences

_WORDS = vocabulary("judge")
_LABEL = re.compile(r"^(?P<label>[A-Za-z][^:.\n]{0,60}):\s*(?P<rest>.+)$")
_MARKS = re.compile(r"\*+|__|\[\d+\]")
_CLAUSE = re.compile(
    rf";\s+|,?\s+(?:but|however|although)\s+|,?\s+and\s+(?={_WORDS['clause_verbs']}\b)",
    re.IGNORECASE,
)
_TURN = re.compile(r"^\s*(?:\[\d+\]\s*)?\[?(?P<speaker>doctor|patient|patient_guest)\]?\s*:?\s*(?P<said>.*)$", re.I)
_PARTS = re.compile(r"(?<=[.?!])\s+")
_FILLER = re.compile(rf"\b{_WORDS['filler']}\b[ ,.]*")
_ANSWERED = re.compile(r"^\W*(?:no|nope)\s*[,.;-]\s*", re.IGNORECASE)
"""An answer before the statement; "no" elsewhere denies what follows."""
_YES = re.compile(rf"^\W*{_WORDS['yes']}\b", re.IGNORECASE)
_NO = re.compile(rf"^\W*{_WORDS['no']}\b", re.IGNORECASE)
_LATER = re.compile(_WORDS["later"], re.IGNORECASE)
_SOCIAL = re.compile(_WORDS["social"])


def claims_of(text: str) -> list[str]:
    """Return the claims of a note in order, without duplicates: clauses, prefixed by their line's label."""
    found: dict[str, None] = {}
    for line in text.split("\n"):
        line = _MARKS.sub("", BULLET.sub("", line)).strip()
        match = _LABEL.match(line)
        label, rest = (f"{match['label']}: ", match["rest"]) if match else ("", line)
        for sentence in sentences(rest):
            for clause in _CLAUSE.split(sentence):
                if clause and read(clause) and not _is_heading(clause, label):
                    found.setdefault(f"{label}{clause.strip(' ,;')}", None)
    return list(found)


def _is_heading(clause: str, label: str) -> bool:
    if label or len(clause.split()) > 4 or clause.endswith("."):
        return False
    return clause.isupper() or clause.endswith(":") or clause.istitle()


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


def find_end_of_history(request: ChatRequest) -> str:
    """Reply with the line before the examination starts; the last line if there is no examination."""
    lines = numbered(request.tag("dialogue"))
    later = [number for number, text in lines if number > 4 and _LATER.search(text)]
    last = later[0] - 1 if later else lines[-1][0] if lines else 0
    return json.dumps({"last_line": last})


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
            asked = next((part for part in reversed(_PARTS.split(said)) if "?" in part), "")
            facts = _introduction(said)
        else:
            facts = _patient_facts(said, asked)
        found |= dict.fromkeys(facts)
    return list(found)


def _introduction(said: str) -> list[str]:
    """Return the physician's introduction of the patient."""
    if not re.search(r"\byears?[- ]old\b|\bpast medical history\b", said):
        return []
    return [part.strip() for part in _PARTS.split(said) if re.search(r"years?[- ]old|past medical", part)]


def _patient_facts(said: str, asked: str) -> list[str]:
    facts = []
    if asked and _clinical(asked):
        topic = _FILLER.sub("", asked).strip(" ?,.")
        if _NO.match(said):
            facts.append(f"The patient denies: {topic}.")
        elif _YES.match(said) and len(said.split()) <= 6:
            facts.append(f"The patient confirms: {topic}.")
    for part in _PARTS.split(said):
        statement = _FILLER.sub("", _ANSWERED.sub("", part)).strip(" ,.")
        if len(statement.split()) >= 4 and _clinical(statement):
            facts.append(f"The patient says: {statement}.")
    return facts


def _clinical(text: str) -> bool:
    return any(word.kind in ("body", "drug") or word.key in _findings() for word in read(text))


@domain_cache(maxsize=1)
def _findings() -> frozenset[str]:
    return frozenset(stem(word) for word in set(lexicon().same.values()))


def _kind(fact: str) -> str:
    if _clinical(fact):
        return "medical"
    return "access_and_social" if any(_SOCIAL.fullmatch(word.key) for word in read(fact)) else "other"
