"""Symptom spans of a note: for each mention the stretch that states whether the symptom is present, and how.

A span lies within the clause of the mention, from its noun phrase, or the verb that reports it, to the end of its
modifiers. A denial extends from its cue.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.annotator import instructions
from tasks.simulator.annotator.mentions import descriptions, is_passing
from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.clinical.lexicon import reading, symptoms
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary

_EXCESS = 40
"""Characters by which a modifier after a comma may exceed its phrase."""


_WORDS = vocabulary("annotator")
_BREAK = re.compile(
    r";|\.\s+(?=[A-Z])"
    r"|(?:,\s*)?\b(?:but|however|although|though|while|whereas)\b"
    # a conjunction before a new subject or verb
    rf"|,?\s*\b(?:and|&)\s+(?=(?:also\s+)?(?:{_WORDS['clause_verbs']}|there|no|the patient|they)\b)"
    # a comma before an addition or a denial
    rf"|,\s*(?={_WORDS['additions']}\b)"
    r"|\s+(?=(?:accompanied by|along with|as well as|together with)\b)",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(
    rf"\b(?:{_WORDS['reporting']}|{_WORDS['introducing']})(?![\w-])"
    r"(?:\s+(?:of|with|a|an|the|some|having|experiencing|about|that|from|to|by|for|in))*\b\s*",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r",|\s+(?:and|&|plus|\+|with|w/|or)\s")
_JOINT = re.compile(r",\s*(?:and|with|or|but)?\s|\s(?:and|with|or|w/|&|but|plus)\s")
_COMMA = re.compile("[,;]")
_TAIL = re.compile(r"(?:,?\s+(?:and|or|but|with|&))+$")
_STATES = re.compile(
    r"\b(?:there|(?:the )?(?:patient|pt)|they|and|but)?\s*\b(?:has|have|is|are|was|were|reports|reported)"
    r"(?:\s+(?:been|had))?\s+$",
    re.IGNORECASE,
)
_DENIED_TAIL = re.compile(
    r"(?:(?!\s+(?:and|or|nor|but|with)\b)[^,;.:\n])*"
    r"(?:,?\s+(?:(?:and|or|nor)\s+)?(?:at|on|during|when|while|by|day|even|either)\b[^,;.:\n]*)*",
    re.IGNORECASE,
)
"""Rest of a denial: up to a conjunction, with further circumstances ("no rash at rest or during exercise")."""
_DENIED_FURTHER = re.compile(r",?\s*(?:neither|nor|not) (?!reported|noted|present)[^.;:]*", re.IGNORECASE)
"""Circumstances that are denied as well: "no rash, neither by day nor by night"."""
_CLOSING_VERB = re.compile(r"[^.;:]{0,40}?\b(?:were|was|is|are|has been|have been) \w+[^,.;:]*")
"""Verb at the end of a denied list ("no chills or sweats were noted"); the span of each item then is the whole list."""
_NAMES = re.compile(r"name is one of (\".*?\")(?=[,.]? (?:and|where)\b|\.)", re.DOTALL)


@dataclass(frozen=True)
class Span:
    """``note[start:end]`` states that ``symptom`` is present or absent (``polarity``)."""

    symptom: str
    start: int
    end: int
    polarity: str


def extract_spans(request: ChatRequest) -> str:
    """Reply to ``extract symptom spans``."""
    note, names = request.tag("note"), _names(request)
    found = [span for span in find_spans(note) if span.symptom in names]
    spans = [{"symptom": names[span.symptom], "text": text} for span, text in _unmistakable(note, found)]
    return json.dumps({"spans": spans}, ensure_ascii=False)


def _names(request: ChatRequest) -> dict[str, str]:
    """Map each symptom of the kernel to the name that the request uses for it."""
    system = " ".join(text for role, text in request.messages if role == "system")
    listed = _NAMES.search(system)
    wanted = re.findall(r'"([^"]+)"', listed.group(1)) if listed else list(symptoms())
    return {instructions.symptom(name): name for name in wanted}


def _unmistakable(note: str, found: Sequence[Span]) -> Iterator[tuple[Span, str]]:
    """Yield spans with their text, extended to the left until the text first occurs at the span."""
    listed = set()
    for span in found:
        start = span.start
        while (span.symptom, note[start : span.end]) not in listed and note.find(note[start : span.end]) < start:
            before = re.search(r"\S+\s+$", note[:start])
            if before is None or "\n" in before.group():
                break
            start = before.start()
        listed.add((span.symptom, note[start : span.end]))
        yield span, note[start : span.end]


def find_spans(note: str) -> list[Span]:
    """Return the symptom spans of ``note`` in order of position."""
    mentions = _stating_mentions(note)
    generic = not any(f.polarity == "present" for f in mentions)
    found: list[Span] = []
    for finding in mentions:
        if finding.polarity == "absent":
            start, end = _denial(note, finding, mentions, generic=generic)
        else:
            start, end = _assertion(note, finding, [f for f in mentions if f.sentence == finding.sentence])
        if end > start:
            found.append(Span(finding.concept, start, end, finding.polarity))
    for symptom, start, end in descriptions(note, mentions):
        found.append(Span(symptom, *_trimmed(note, start, end), "present"))
    return _merged(found)


def _stating_mentions(note: str) -> list[Finding]:
    """Mentions that state a symptom; normal findings and signs only where there is no other mention of the symptom."""
    mentions = [f for f in findings.find(note) if f.category == "symptom" and _is_stated(note, f)]
    plain = {f.concept for f in mentions if not _is_side(f)}
    present = {f.concept for f in mentions if f.polarity == "present" and not _is_side(f)}
    if not plain:
        return [f for f in mentions if not _is_side(f)]
    return [f for f in mentions if not _is_side(f) or f.concept not in (present if _signs_state(f) else plain)]


def _is_side(finding: Finding) -> bool:
    """Whether a mention counts only for lack of another: a normal finding.

    Not so a denied sign that denies the symptom once more, as tenderness that palpation does not elicit.
    """
    sign = _signs_state(finding) and finding.section == "physical_examination"
    normal = finding.kind == "exam" and finding.concept not in reading().denied_signs_state
    return finding.polarity == "absent" and (sign or normal)


def _signs_state(finding: Finding) -> bool:
    """Whether a sign on examination states the symptom, as a discharge that is seen."""
    return finding.concept in reading().signs_state


def _is_stated(note: str, finding: Finding) -> bool:
    """Whether a mention states the patient's symptom, neither incidentally nor as a normal finding."""
    if finding.other or finding.polarity == "uncertain" or finding.concept not in symptoms():
        return False
    if finding.polarity == "absent" and finding.kind == "measured":
        return False
    return finding.kind != "weak" and not is_passing(note, finding)


def _assertion(note: str, finding: Finding, here: Sequence[Finding]) -> tuple[int, int]:
    """The stretch about a present symptom, given the mentions of its sentence."""
    others = [f for f in here if f.concept != finding.concept]
    same = [f for f in here if f.concept == finding.concept and f.polarity == "present"]
    start, end = _clause(note, finding)
    for other in others:
        if start < other.end <= finding.start:
            joints = list(_JOINT.finditer(note, other.end, finding.start))
            start = joints[-1].end() if joints else other.end
    comma = note.rfind(",", start, finding.start)
    if finding.section == "physical_examination" and comma != -1:
        start = comma + 1
    short = _phrase_start(note, start, finding)
    end = _trimmed(note, short, _phrase_end(note, finding, end, others, same))[1]
    return _trimmed(note, _with_verb(note, start, short, end), end)


def _denial(note: str, finding: Finding, mentions: Sequence[Finding], *, generic: bool) -> tuple[int, int]:
    """From the negation cue to the symptom: includes the preceding items of a list, which share the cue."""
    if finding.cue is None:
        return finding.start, finding.end
    if finding.cue[0] > finding.start:
        start, _ = _clause(note, finding)
        return _trimmed(note, _phrase_start(note, start, finding), finding.cue[1])
    together = [f for f in mentions if f.cue == finding.cue and f.sentence == finding.sentence]
    last = max(f.end for f in together)
    end = finding.end
    if len({f.concept for f in together}) > 1:
        closing = _CLOSING_VERB.match(note, last, finding.sentence[1])
        end = closing.end() if closing else last if generic else end
    if last in (finding.end, end):
        for circumstance in (_DENIED_TAIL, _DENIED_FURTHER):
            more = circumstance.match(note, end, finding.sentence[1])
            end = more.end() if more else end
    start, end = _trimmed(note, finding.cue[0], end)
    stated = _STATES.search(note, finding.sentence[0], start)  # "there is" of "there is no rash"
    full = stated.start() if stated else start
    return _with_verb(note, full, start, end), end


def _merged(found: Sequence[Span]) -> list[Span]:
    """Merge overlapping spans of the same symptom and polarity."""
    merged: list[Span] = []
    for span in sorted(found, key=lambda s: (s.symptom, s.start, s.end)):
        last = merged[-1] if merged else None
        if last and last.symptom == span.symptom and span.start < last.end and last.polarity == span.polarity:
            merged[-1] = Span(last.symptom, last.start, max(last.end, span.end), last.polarity)
        else:
            merged.append(span)
    return sorted(merged, key=lambda s: (s.start, s.end, s.symptom))


@domain_cache(maxsize=1)
def _modifier() -> re.Pattern[str]:
    """The beginning of a modifier after a comma: a quotation, a participle, an adverb, or a known word."""
    known = "|".join([_WORDS["modifiers"], *map(re.escape, reading().modifiers)])
    return re.compile(rf"^,\s*(?:and\s+)?(?:[\"“]|\w+(?:ly|ing|ed)\b|(?:{known})\b)", re.IGNORECASE)


def _clause(note: str, finding: Finding) -> tuple[int, int]:
    """Return the stretch between the clause breaks around the finding."""
    start, end = finding.sentence
    for match in _BREAK.finditer(note, start, end):
        if match.end() <= finding.start:
            start = match.end()
        elif match.start() >= finding.end:
            return start, match.start()
    return start, end


def _phrase_start(note: str, start: int, finding: Finding) -> int:
    """Return where the noun phrase starts: after the last verb or preposition that introduces the finding."""
    for match in _INTRODUCTION.finditer(note, start, finding.start):
        start = match.end()
    return min(start, finding.start)


def _with_verb(note: str, full: int, short: int, end: int) -> int:
    """Return where a short mention starts including its reporting verb: "presents with chills", not "chills".

    Words are added until the span covers half of the clause, since published spans vary between phrase and clause.
    """
    if end - full <= 2 * (end - short):
        return short
    wanted = end - min((end - full + 1) // 2, 2 * (end - short) + 6)
    words = [m.start() + full for m in re.finditer(r"\S+", note[full:short])]
    return max((at for at in words if at <= wanted), default=short)


def _phrase_end(note: str, finding: Finding, end: int, others: Sequence[Finding], same: Sequence[Finding]) -> int:
    """Return where the phrase ends: before another symptom, or at a comma that no modifier follows.

    The phrase includes further mentions of the same symptom (``same``). A modifier that is more than `_EXCESS`
    characters longer than the phrase before it is a clause of its own.
    """
    following = [other.start for other in others if finding.end <= other.start < end]
    if following:
        separator = _SEPARATOR.search(note, finding.end, min(following))
        end = separator.start() if separator else min(following)
    reach = max([f.end for f in same if finding.end <= f.start and f.end <= end], default=finding.end)
    comma = note.find(",", reach, end)
    while comma != -1:
        following_comma = _COMMA.search(note, comma + 1, end)
        stop = following_comma.start() if following_comma else end
        if not _modifier().match(note[comma:stop]) or stop - comma > comma - finding.start + _EXCESS:
            return comma
        comma = note.find(",", stop, end)
    return end


def _trimmed(note: str, start: int, end: int) -> tuple[int, int]:
    """Strip white space, list marks and conjunctions from both ends of a stretch."""
    while start < end and (note[start].isspace() or note[start] in ",;:.-•*"):
        start += 1
    while end > start and (note[end - 1].isspace() or note[end - 1] in ",;:.-*"):
        end -= 1
    tail = _TAIL.search(note[start:end])
    return start, (start + tail.start() if tail else end)
