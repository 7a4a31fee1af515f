"""Judges claims, citations and omissions by entailment, and lists claims and facts, which are clauses."""

import json
import re

from tasks.simulator.reader.entailment import NO, SAME_MATTER, TURN, YES, align, entails, extent, reason
from tasks.simulator.reader.findings import find
from tasks.simulator.reader.lexicon import is_held_out
from tasks.simulator.reader.words import stems
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary
from tasks.text.sentences import sentences

_WORDS = vocabulary("reader")
_NUMBERED = re.compile(r"^\[?(\d+)[.\]]\s*(.*)$")
_FACT = re.compile(r"^(F\d+):\s*(.*)$")
_BULLET = re.compile(r"^\s*(?:[•\-*#>]+|\d{1,2}[.)])\s*")
_LABEL = re.compile(r"^(?P<label>[A-Za-z][^:.\n]{0,60}):\s*(?P<rest>.+)$")
_NEXT = rf"(?:he|she|it|there|no|{_WORDS['clause_verbs']})"
_CLAUSE = re.compile(rf";\s+|,?\s+(?:but|however|although)\s+|,?\s+and\s+(?={_NEXT}\b)", re.IGNORECASE)
_FILLER = re.compile(rf"\b{_WORDS['filler']}\b[ ,.]*", re.IGNORECASE)
_LATER, _SOCIAL = (re.compile(_WORDS[name], re.IGNORECASE) for name in ("later", "social"))
_RULES_OUT = frozenset({"negation", "number", "side", "degree"})
"""Conflicts by which a text contradicts a claim; by others it does not support it."""
_HEADING = re.compile(r'(?:belong to|under the heading) ("(?:[^"\\]|\\.)*")')
"""What a prompt says that texts and claims are about."""
_INCLUDED = {"whole": "yes", "part": "partly", "none": "no"}


def numbered(block: str) -> list[tuple[int, str]]:
    """The lines of the form ``3. text`` or ``[3] text``."""
    matches = (_NUMBERED.match(line.strip()) for line in block.split("\n"))
    return [(int(match[1]), match[2]) for match in matches if match]


def facts(request: ChatRequest) -> dict[str, str]:
    """The facts of a prompt by id."""
    matches = (_FACT.match(line.strip()) for line in request.tag("facts").split("\n"))
    return {match[1]: match[2] for match in matches if match}


def judge_claims(request: ChatRequest) -> str:
    """Reply to the tasks that judge claims against a text, in the form that each asks for."""
    task, text = request.task or "", request.tag("text", request.tag("source", ""))
    if task == "judge a claim with reasons":
        claim = request.tag("claim")
        return f"explanation: {reason(text, claim)}\nentailment prediction: {int(entails(text, claim))}"
    claims, given = numbered(request.tag("claims")), None
    if task.endswith("as a clinician reads"):
        heading = _HEADING.search(request.last)
        given = json.loads(heading[1]) if heading else ""
    if task == "judge claims":
        return "\n".join(f"{number}: {int(entails(text, claim))}" for number, claim in claims)
    verdicts = []
    for number, claim in claims:
        verdict: dict[str, object] = {"claim": number, "explanation": reason(text, claim)}
        if task == "judge claims in degrees":
            verdict["extent"] = extent(text, claim)
        elif task in ("check claims against their source", "check a note as a clinician reads"):
            best = align(text, claim, given=given)
            differs = best is not None and best.conflict in _RULES_OUT and best.coverage >= SAME_MATTER
            supported = entails(text, claim, given=given)
            verdict["verdict"] = "supported" if supported else "contradicted" if differs else "absent"
        else:
            verdict["entailed"] = int(entails(text, claim, given=given))
        if task == "judge claims in json":
            del verdict["explanation"]
        verdicts.append(verdict)
    return json.dumps({"verdicts": verdicts})


def judge_citations(request: ChatRequest) -> str:
    """Reply whether the cited sentences entail the statement, and which of them are necessary or sufficient."""
    statement, cited = request.tag("statement"), numbered(request.tag("sentences"))
    entailed = entails("\n".join(text for _, text in cited), statement)
    supporting = []
    for number, text in cited:
        rest = "\n".join(other for at, other in cited if at != number)
        if entailed and (entails(text, statement) or not entails(rest, statement)):
            supporting.append(number)
    explanation = "Together they say it." if entailed else "They do not say all of it."
    return json.dumps({"entailed": int(entailed), "explanation": explanation, "supporting": supporting})


def find_omitted(request: ChatRequest) -> str:
    """Reply whether the summary includes each fact."""
    summary = request.tag("summary")
    listed = [
        {"fact": name, "explanation": reason(summary, fact), "included": _INCLUDED[extent(summary, fact)]}
        for name, fact in facts(request).items()
    ]
    return json.dumps({"facts": listed})


def clauses(text: str) -> list[str]:
    """The clauses of a note in order, without duplicates, each with its line's label."""
    found: dict[str, None] = {}
    for line in text.split("\n"):
        line = re.sub(r"\*+|__|\[\d+\]", "", _BULLET.sub("", line)).strip()
        match = _LABEL.match(line)
        label, rest = (f"{match['label']}: ", match["rest"]) if match else ("", line)
        for sentence in (one for one in sentences(rest) if not is_held_out(one)):
            heading = not label and len(sentence.split()) <= 4 and not sentence.endswith(".")
            if heading and (sentence.isupper() or sentence.istitle() or sentence.endswith(":")):
                continue
            found |= dict.fromkeys(f"{label}{one.strip(' ,;')}" for one in _CLAUSE.split(sentence) if stems(one))
    return list(found)


def _dialogue_facts(dialogue: str) -> list[str]:
    """The patient's statements; a short answer with its question."""
    found: dict[str, None] = {}
    asked = ""
    for match in filter(None, map(TURN.match, dialogue.split("\n"))):
        said = re.split(r"(?<=[.?!])\s+", match["said"].strip())
        if (match["a"] or match["b"]).lower() in ("doctor", "clinician"):
            asked = next((part for part in reversed(said) if "?" in part), "")
            continue
        topic = _FILLER.sub("", asked).strip(" ?,.")
        if topic and find(topic) and NO.match(said[0]):
            found[f"The patient denies: {topic}."] = None
        elif topic and find(topic) and YES.match(said[0]) and len(match["said"].split()) <= 6:
            found[f"The patient confirms: {topic}."] = None
        for part in said:
            statement = _FILLER.sub("", re.sub(r"^\W*(?:no|nope)\s*[,.;-]\s*", "", part, flags=re.I)).strip(" ,.")
            if len(statement.split()) >= 4 and len(stems(statement)) > 1:
                found[f"The patient says: {statement}."] = None
    return list(found)


def list_statements(request: ChatRequest) -> str:
    """Reply with the claims or facts of a text, or with the line on which the history of a dialogue ends."""
    if request.task == "find the end of the history":
        lines = numbered(request.tag("dialogue"))
        later = [number for number, text in lines if number > 4 and _LATER.search(text)]
        return json.dumps({"last_line": later[0] - 1 if later else lines[-1][0] if lines else 0})
    text = request.tag("text")
    if request.task == "list subclaims":
        limit = re.search(r"at most (\d+) claims", request.last)
        listed = {line.removeprefix("- ") for line in request.tag("listed", "").split("\n")}
        left = [claim for claim in clauses(text) or [text.strip()] if claim.strip() not in listed]
        return json.dumps({"claims": left[: int(limit.group(1)) if limit else None]})
    lines_of = [line for line in text.split("\n") if line.strip()]
    spoken = sum(TURN.match(line) is not None for line in lines_of) > len(lines_of) / 2
    lists: dict[str, list[str]] = {"medical": [], "access_and_social": [], "other": []}
    for fact in _dialogue_facts(text) if spoken else clauses(text):
        lists["access_and_social" if _SOCIAL.search(fact) and not find(fact) else "medical"].append(fact)
    return json.dumps(lists)
