"""State what a note asserts of a symptom in given phrases, by the polarity of the mentions in them."""

import json
import re

from tasks.simulator.annotator import instructions
from tasks.simulator.annotator.mentions import is_passing
from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary

_WORDS = vocabulary("annotator")
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PHRASE = re.compile(
    r"^(?P<number>\d+)\. \[(?P<version>full|compact)\] (?P<symptom>[^:\n]+): "
    rf"(?P<text>{_QUOTED}) in (?P<sentence>{_QUOTED})$",
    re.MULTILINE,
)
_TAGS = {"full": "note", "compact": "compact"}
_DENIES = re.compile(rf"\b{_WORDS['denies']}\b", re.IGNORECASE)
_FORMERLY = re.compile(rf"\b{_WORDS['formerly']}\b", re.IGNORECASE)


def state_assertions(request: ChatRequest) -> str:
    """Reply to ``state what phrases assert``."""
    stated = []
    for asked in _PHRASE.finditer(request.tag("phrases")):
        note, symptom = request.tag(_TAGS[asked["version"]], default=""), instructions.symptom(asked["symptom"])
        phrase, sentence = json.loads(asked["text"]), json.loads(asked["sentence"])
        stated.append({"number": int(asked["number"]), "assertion": assertion(note, symptom, phrase, sentence)})
    return json.dumps({"assertions": stated})


def assertion(note: str, symptom: str, phrase: str, sentence: str) -> str:
    """Return what ``phrase``, which stands in ``sentence`` of ``note``, asserts of ``symptom``."""
    start = note.find(phrase, max(note.find(sentence), 0))
    inside = [f for f in findings.of(note, symptom) if f.start < start + len(phrase) and start < f.end]
    if inside and all(finding.other for finding in inside):
        return "other person"
    own = [f for f in inside if not f.other]
    said = _polarity(note, own) or ("absent" if _DENIES.search(phrase) else "present")
    if said == "present" and _FORMERLY.search(sentence):
        return "past"
    return "possible" if said == "uncertain" else said


def _polarity(note: str, mentions: list[Finding]) -> str | None:
    """Polarity of the first mention in a phrase that is neither in passing nor weak, else of the first one."""
    chosen = [f for f in mentions if f.kind != "weak" and not is_passing(note, f)] or mentions
    return chosen[0].polarity if chosen else None
