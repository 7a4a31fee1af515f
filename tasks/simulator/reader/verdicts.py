"""Judges claims, citations and omissions by entailment, and lists claims and facts, which are clauses.

The differential diagnosis and the importance of facts are the posterior of the domain's network given what a text
states.
"""

import json
import re
from collections import Counter

import pandas as pd

from tasks.domains.in_use import domain_cache, domain_file
from tasks.domains.rules import load_rules
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import posterior
from tasks.simulator.reader.entailment import NO, SAME_MATTER, TURN, YES, align, entails, extent, reason
from tasks.simulator.reader.findings import find, level_of
from tasks.simulator.reader.lexicon import is_held_out, level_pattern
from tasks.simulator.reader.words import stems
from tasks.simulator.request import ChatRequest, numbered
from tasks.simulator.resources import vocabulary
from tasks.text.sentences import sentences

_WORDS = vocabulary()
_FACT = re.compile(r"^[^\S\n]*(F\d+):[^\S\n]*(.*?)[^\S\n]*$", re.MULTILINE)
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


def facts(request: ChatRequest) -> dict[str, str]:
    """The facts of a prompt by id."""
    return dict(_FACT.findall(request.tag("facts")))


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


PROBABLE, POSSIBLE = 0.5, 0.2
CRITICAL, BEARING = 0.15, 0.01
"""Least change of a posterior by a critical fact, and by one that supports or refutes a diagnosis."""
_KINDS = {
    kind: re.compile(rf"\b{_WORDS[words]}\b", re.IGNORECASE)
    for kind, words in (("test", "test"), ("treatment", "treatment"), ("social", "circumstances"))
}
Evidence = tuple[tuple[str, str], ...]
"""Variables of the network with their values, sorted."""


@domain_cache(maxsize=1)
def _network() -> NetworkDefinition:
    return load_definition(domain_file("network"))


@domain_cache(maxsize=4_000)
def evidence(text: str) -> Evidence:
    """What a text states of the network's symptoms and conditions; the first statement of each counts."""
    columns = {label: column for column, label in load_rules().labels.items()}
    found: dict[str, str] = {}
    for finding in find(text):
        column = columns.get(finding.concept)
        if column is None or finding.other or finding.polarity == "uncertain" or finding.kind == "weak":
            continue
        values = _network().values(column)
        value = values[0] if finding.polarity == "absent" else values[-1]
        if finding.polarity == "present" and len(values) > 2:
            words = text[slice(*finding.sentence)]
            worded = next((level for level in values[1:] if level_pattern(level).search(words)), values[1])
            value = level_of(finding.celsius) if finding.celsius is not None else worded
        found.setdefault(column, value if value in values else values[-1])
    return tuple(sorted(found.items()))


@domain_cache(maxsize=4_000)
def diagnoses(known: Evidence) -> dict[str, float]:
    """The posterior probability of each diagnosis, by name."""
    frame = pd.DataFrame([dict(known)], index=[0])
    names = _network().of_type("diagnosis")
    return {name.replace("_", " "): float(posterior(_network(), frame, name)[0, -1]) for name in names}


def judge_differential(request: ChatRequest) -> str:
    """Reply to the tasks about a differential diagnosis."""
    if request.task == "give a differential diagnosis":
        return _differential(request.tag("text"))
    listed = facts(request)
    if request.task == "group facts by mechanism":
        return _mechanisms(listed)
    if request.task in ("grade the importance of facts", "grade facts for the note"):
        return json.dumps({"facts": [{"fact": fact, "category": _importance(fact, listed)} for fact in listed]})
    lines = (line.rsplit(":", 1) for line in request.tag("differential").split("\n") if ":" in line)
    named = [name.strip() for name, _ in lines]
    sign = 1 if request.task == "find supporting facts" else -1
    clusters = []
    for name in named:
        shifts = {fact: sign * _shift(evidence(text), name) for fact, text in listed.items()}
        held = [{"fact": fact, "explanation": f"{shift:+.2f}"} for fact, shift in shifts.items() if shift >= BEARING]
        clusters.append({"diagnosis": name, "facts": held})
    return json.dumps({"clusters": clusters})


def _differential(text: str) -> str:
    ranked = sorted(diagnoses(evidence(text)).items(), key=lambda one: (-one[1], one[0]))
    listed = []
    for name, share in ranked[:10]:
        likelihood = "probable" if share >= PROBABLE else "possible" if share >= POSSIBLE else "unlikely"
        listed.append({"diagnosis": name, "likelihood": likelihood, "explanation": f"posterior {share:.2f}"})
    return json.dumps({"diagnoses": listed})


def _shift(known: Evidence, diagnosis: str) -> float:
    """How much a fact alone changes the probability of a diagnosis; 0 for one that the network does not have."""
    name = diagnosis.lower()
    return diagnoses(known).get(name, 0.0) - diagnoses(()).get(name, 0.0) if known else 0.0


def _importance(fact: str, listed: dict[str, str]) -> str:
    """Critical if the differential without the fact would be another, important if the fact bears on it."""
    own = evidence(listed[fact])
    if not own:
        return "other"
    others = dict(one for name, text in listed.items() if name != fact for one in evidence(text))
    full, less = (diagnoses(tuple(sorted(known.items()))) for known in (others | dict(own), others))
    change = max(abs(full[name] - less[name]) for name in full)
    return "critical" if change >= CRITICAL else "important"


def _mechanisms(listed: dict[str, str]) -> str:
    """Facts grouped by the finding that they are about, each group with the kind of most of its facts."""
    groups: dict[str, dict[str, str]] = {}
    for fact, text in listed.items():
        about = next((finding.concept for finding in find(text)), "not specific")
        kind = next((kind for kind, words in _KINDS.items() if words.search(text)), "symptom")
        groups.setdefault(about, {})[fact] = kind
    made = [
        {"kind": Counter(held.values()).most_common(1)[0][0], "mechanism": name, "facts": list(held)}
        for name, held in groups.items()
    ]
    return json.dumps({"groups": made})
