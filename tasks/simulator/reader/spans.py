"""Spans of symptoms: the clause of a mention, from the verb that reports it to the end of its modifiers.

A denial extends from its trigger. Also what phrases assert, their counterparts in the compact version, and the words of
the note that an imprecise phrase quotes.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tasks.simulator.reader.findings import Finding, find, symptom_of
from tasks.simulator.reader.lexicon import reading, symptoms
from tasks.simulator.reader.words import similarity, stems
from tasks.simulator.request import ChatRequest
from tasks.simulator.resources import vocabulary
from tasks.text.sections import section_at
from tasks.text.sentences import sentence_spans

_WORDS = vocabulary()
_BREAK = re.compile(
    rf";|\.\s+(?=[A-Z])|(?:,\s*)?\b(?:but|however|although|though|while|whereas)\b"
    rf"|,?\s*\b(?:and|&)\s+(?=(?:also\s+)?(?:{_WORDS['clause_verbs']}|there|no|the patient|they)\b)"
    rf"|,\s*(?={_WORDS['additions']}\b)|\s+(?=(?:accompanied by|along with|as well as|together with)\b)",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(
    rf"\b{_WORDS['introducing']}(?![\w-])"
    r"(?:\s+(?:of|with|a|an|the|some|having|experiencing|about|that|from|to|by|for|in))*\b\s*",
    re.IGNORECASE,
)
_JOINT = re.compile(r",\s*(?:and|with|or|but)?\s|\s(?:and|with|or|w/|&|but|plus|\+)\s")
_MODIFIER = re.compile(rf",\s*(?:and\s+)?(?:[\"“]|\w+(?:ly|ing|ed)\b|{_WORDS['modifiers']}\b)", re.IGNORECASE)
_TAIL = re.compile(r"(?:,?\s+(?:and|or|but|with|&))+$")
_DENIED_TAIL = re.compile(r"(?:(?!\s+(?:and|or|nor|but|with)\b)[^,;.:\n])*", re.IGNORECASE)
_CLOSING = re.compile(r"[^.;:]{0,40}?\b(?:were|was|is|are|has been|have been) \w+[^,.;:]*")
_BACK = re.compile(r"(?:(?:at|on|in|when|while|during|after)\b[^.;:]{1,60}?,\s*)?(?:it|this)\b", re.IGNORECASE)
_REFERENCE = rf"{_WORDS['references']}\s+(?:the|this|these|his|her|their)\s+(?:\w+\s+)?"
_PASSING = re.compile(
    rf"\b(?:{_REFERENCE}|{_WORDS['occasions']}\s+(?:[\w-]+\s+(?:[\w-]+\s+)?(?:or|and)\s+)?(?:\w+\s+)?)$", re.IGNORECASE
)
_NAMES = re.compile(r"name is one of (\".*?\")(?=[,.]? (?:and|where)\b|\.)", re.DOTALL)
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PHRASE = re.compile(rf"^(\d+)\. \[(full|compact)\] ([^:\n]+): ({_QUOTED}) in ({_QUOTED})$", re.MULTILINE)
_DENIES, _FORMERLY = (re.compile(rf"\b{_WORDS[name]}\b", re.IGNORECASE) for name in ("denies", "formerly"))
_ALIKE, _LEAST = 0.72, 0.45
"""Least likeness of a phrase and the words that it quotes, and of a phrase and its counterpart."""


@dataclass(frozen=True)
class Span:
    """``note[start:end]`` states that ``symptom`` is present or absent (``polarity``)."""

    symptom: str
    start: int
    end: int
    polarity: str


def find_spans(note: str) -> list[Span]:
    """The symptom spans of ``note`` in order of position."""
    stating = _stating(note)
    found = [Span(f.concept, *(_denial if f.polarity == "absent" else _clause)(note, f), f.polarity) for f in stating]
    found += _referring(note, stating)
    merged: list[Span] = []
    for span in sorted(found, key=lambda s: (s.symptom, s.start, s.end)):
        last = merged[-1] if merged else None
        if last and last.symptom == span.symptom and span.start < last.end and last.polarity == span.polarity:
            merged[-1] = Span(last.symptom, last.start, max(last.end, span.end), last.polarity)
        elif span.end > span.start:
            merged.append(span)
    return sorted(merged, key=lambda s: (s.start, s.end, s.symptom))


def _stating(note: str) -> list[Finding]:
    """Mentions that state the patient's symptom; normal findings only for want of another mention."""
    stating = []
    for finding in find(note):
        passing = finding.kind != "exam" and _PASSING.search(note, finding.sentence[0], finding.start)
        cool = finding.kind == "measured" and finding.polarity == "absent"
        stated = finding.concept in symptoms() and not finding.other and finding.polarity != "uncertain"
        if stated and finding.kind != "weak" and not passing and not cool:
            stating.append(finding)

    normal = [f for f in stating if f.polarity == "absent" and (f.kind == "exam" or _is_sign(f))]
    plain = {f.concept for f in stating if f not in normal}
    present = {f.concept for f in stating if f.polarity == "present"}
    return [f for f in stating if f not in normal or f.concept not in (present if _is_sign(f) else plain)]


def _is_sign(finding: Finding) -> bool:
    """Whether a sign on examination states the symptom, as a discharge that is seen."""
    return finding.in_examination and finding.concept in reading().signs_state


def _between_breaks(note: str, finding: Finding) -> tuple[int, int]:
    start, end = finding.sentence
    for match in _BREAK.finditer(note, start, end):
        if match.end() <= finding.start:
            start = match.end()
        elif match.start() >= finding.end:
            return start, match.start()
    return start, end


def _clause(note: str, finding: Finding) -> tuple[int, int]:
    """The clause of a present symptom, without what belongs to other symptoms of its sentence."""
    start, end = _between_breaks(note, finding)
    here = [f for f in find(note) if f.category == "symptom" and f.sentence == finding.sentence]
    for other in (f for f in here if f.concept != finding.concept):
        if start < other.end <= finding.start:
            joints = list(_JOINT.finditer(note, other.end, finding.start))
            start = joints[-1].end() if joints else other.end
        elif finding.end <= other.start < end:
            joint = _JOINT.search(note, finding.end, other.start)
            end = joint.start() if joint else other.start
    comma = note.rfind(",", start, finding.start)
    start = comma + 1 if finding.in_examination and comma != -1 else start
    short = start
    for match in _INTRODUCTION.finditer(note, start, finding.start):
        short = match.end()
    reach = max([f.end for f in here if f.concept == finding.concept and f.start < end], default=finding.end)
    end = _before_comma(note, min(short, finding.start), max(reach, finding.end), end)
    # a phrase that is less than half of its clause begins with the verb that reports it
    if end - start > 2 * (end - short):
        wanted = end - min((end - start + 1) // 2, 2 * (end - short) + 6)
        words = [match.start() + start for match in re.finditer(r"\S+", note[start:short])]
        short = max((at for at in words if at <= wanted), default=short)
    return _trimmed(note, min(short, finding.start), end)


def _before_comma(note: str, start: int, reach: int, end: int) -> int:
    """The end of a phrase: at the first comma after ``reach`` that no modifier follows."""
    comma = note.find(",", reach, end)
    while comma != -1:
        stop = min([at for at in (note.find(mark, comma + 1, end) for mark in ",;") if at != -1], default=end)
        if not _MODIFIER.match(note, comma, stop) or stop - comma > comma - start + 40:
            return comma
        comma = note.find(",", stop, end)
    return end


def _denial(note: str, finding: Finding) -> tuple[int, int]:
    """From the trigger to the symptom, with the items of a list before it, which share the trigger."""
    if finding.cue is None:
        return finding.start, finding.end
    if finding.cue[0] > finding.start:
        return _trimmed(note, _between_breaks(note, finding)[0], finding.cue[1])
    listed = [f for f in find(note) if f.cue == finding.cue and f.category == "symptom"]
    last = max(f.end for f in listed)
    closing = _CLOSING.match(note, last, finding.sentence[1])
    generic = not any(f.polarity == "present" and f.category == "symptom" for f in find(note))
    if len({f.concept for f in listed}) > 1 and (closing or generic):
        return _trimmed(note, finding.cue[0], closing.end() if closing else last)
    tail = _DENIED_TAIL.match(note, finding.end, finding.sentence[1]) if last == finding.end else None
    before = note[finding.sentence[0] : finding.cue[0]]
    subject = re.search(r"\b(?:there|(?:the )?patient|they)\s+(?:\w+\s+){1,2}$", before, re.IGNORECASE)
    start = finding.sentence[0] + subject.start() if subject else finding.cue[0]
    return _trimmed(note, start, tail.end() if tail else finding.end)


def _referring(note: str, stating: Sequence[Finding]) -> Iterator[Span]:
    """Sentences whose subject refers back to the only symptom that the sentence before states as present."""
    current: str | None = None
    for start, end in sentence_spans(note):
        here = [f for f in find(note) if f.sentence == (start, end) and f.category in ("symptom", "other_symptom")]
        if current and _BACK.match(note, start, end) and all(f.concept == current for f in here):
            yield Span(current, *_trimmed(note, start, end), "present")
            continue
        stated = {f.concept for f in stating if f.sentence == (start, end) and f.polarity == "present"}
        alone = len(stated) == 1 and not any(f.in_examination or f.concept not in stated for f in here)
        current = stated.pop() if alone else None


def _trimmed(note: str, start: int, end: int) -> tuple[int, int]:
    """Strip white space, list marks and conjunctions from both ends of a stretch."""
    while start < end and (note[start].isspace() or note[start] in ",;:.-•*"):
        start += 1
    while end > start and (note[end - 1].isspace() or note[end - 1] in ",;:.-*"):
        end -= 1
    tail = _TAIL.search(note[start:end])
    return start, start + tail.start() if tail else end


def extract(request: ChatRequest) -> str:
    """Reply to ``extract symptom spans``; a text that occurs before is extended to the left until it is the first."""
    note, found = request.tag("note"), []
    listed = _NAMES.search(" ".join(text for role, text in request.messages if role == "system"))
    names = {symptom_of(name): name for name in re.findall(r'"([^"]+)"', listed.group(1))} if listed else {}
    seen: set[tuple[str, str]] = set()
    for span in find_spans(note):
        start, name = span.start, names.get(span.symptom, span.symptom)
        while (name, note[start : span.end]) not in seen and note.find(note[start : span.end]) < start:
            before = re.search(r"\S+\s+$", note[:start])
            if before is None or "\n" in before.group():
                break
            start = before.start()
        seen.add((name, note[start : span.end]))
        if span.symptom in names or not names:
            found.append({"symptom": name, "text": note[start : span.end]})
    return json.dumps({"spans": found}, ensure_ascii=False)


def assert_phrases(request: ChatRequest) -> str:
    """Reply to ``state what phrases assert``."""
    stated = []
    for number, version, name, text, sentence in _PHRASE.findall(request.tag("phrases")):
        note = request.tag("note" if version == "full" else "compact", default="")
        said = assertion(note, symptom_of(name), json.loads(text), json.loads(sentence))
        stated.append({"number": int(number), "assertion": said})
    return json.dumps({"assertions": stated})


def assertion(note: str, symptom: str, phrase: str, sentence: str) -> str:
    """What ``phrase``, which stands in ``sentence`` of ``note``, asserts of ``symptom``."""
    start = note.find(phrase, max(note.find(sentence), 0))
    inside = [f for f in find(note) if f.concept == symptom and f.start < start + len(phrase) and start < f.end]
    if inside and all(f.other for f in inside):
        return "other person"
    own = [f for f in inside if not f.other]
    said = own[0].polarity if own else "absent" if _DENIES.search(phrase) else "present"
    if said == "present" and _FORMERLY.search(sentence):
        return "past"
    return "possible" if said == "uncertain" else said


def match_phrases(request: ChatRequest) -> str:
    """Reply to the tasks that map phrases to the compact note, check the pairs, or correct phrases."""
    if request.task == "check that mapped phrases mean the same":
        said = next(text for role, text in reversed(request.messages) if role == "assistant")
        pairs = [(pair["phrase"], pair["match"]) for pair in json.loads(said)["pairs"]]
        return _pairs((phrase, match if match and same_meaning(phrase, match) else "") for phrase, match in pairs)
    note, wanted = request.tag("note"), json.loads(request.tag("phrases"))
    if request.task == "correct phrases to the words of the note":
        corrected = [{"phrase": phrase, "correction": correct(note, phrase)} for phrase in wanted]
        return json.dumps({"corrections": corrected}, ensure_ascii=False)
    return _pairs(zip(wanted, map_phrases(note, request.tag("compact"), wanted), strict=True))


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    listed = [{"phrase": phrase, "match": match} for phrase, match in pairs]
    return json.dumps({"pairs": listed}, ensure_ascii=False)


def map_phrases(note: str, compact: str, wanted: Sequence[str]) -> list[str]:
    """For each phrase of ``note`` the span of ``compact`` about the same symptoms that is most alike; "" for none."""
    ours, theirs, scored = find_spans(note), find_spans(compact), []
    for row, phrase in enumerate(wanted):
        start = note.find(phrase)
        stretch = (start, start + len(phrase)) if phrase and start >= 0 else None
        said = {(s.symptom, s.polarity) for s in ours if stretch and s.start < stretch[1] and stretch[0] < s.end}
        exact = {(s.symptom, s.polarity) for s in ours if stretch == (s.start, s.end)}
        for span in theirs:
            if (span.symptom, span.polarity) in (exact or said):
                same = section_at(note, max(start, 0)) == section_at(compact, span.start)
                near = 1 - abs(max(start, 0) / max(len(note), 1) - span.start / max(len(compact), 1))
                scored.append((similarity(phrase, compact[span.start : span.end]) + 0.4 * same + 0.3 * near, row, span))
    chosen: dict[int, Span] = {}
    for _, row, span in sorted(scored, key=lambda one: (-one[0], one[1], one[2].start)):
        if row not in chosen and span not in chosen.values():
            chosen[row] = span
    return [
        compact[chosen[row].start : chosen[row].end] if row in chosen else _alike(compact, phrase)
        for row, phrase in enumerate(wanted)
    ]


def _alike(compact: str, phrase: str) -> str:
    """The clause of the compact version that is most like the phrase; "" if none is."""
    clauses = [clause.strip() for line in compact.split("\n") for clause in re.split(r"[.;,]\s", line)]
    best = max(clauses, key=lambda clause: similarity(clause, phrase), default="")
    return best if similarity(best, phrase) >= _LEAST else ""


def same_meaning(phrase: str, match: str) -> bool:
    """Whether two phrases state the same about the same symptom."""
    said = [{(f.concept, f.polarity) for f in find(one) if f.category == "symptom"} for one in (phrase, match)]
    ours, theirs = said
    if not ours or not theirs:
        return bool(stems(phrase) & stems(match))
    shared = {concept for concept, _ in ours} & {concept for concept, _ in theirs}
    return bool(shared) and shared == {concept for concept, _ in ours & theirs}


def correct(note: str, phrase: str) -> str:
    """The stretch of ``note`` that ``phrase`` quotes, by the Ratcliff-Obershelp ratio of its words; "" for none.

    A phrase with ``...`` matches from its first to its last part.
    """
    parts = [part for part in re.split(r"\s*(?:\.{3,}|…)\s*", phrase) if re.search(r"\w", part)]
    places = [_quoted(note, part) for part in parts]
    if not places or None in places:
        return ""
    start, end = places[0][0], places[-1][1]  # type: ignore[index]
    return note[start:end] if start < end <= start + 400 else ""


def _quoted(note: str, phrase: str) -> tuple[int, int] | None:
    wanted = re.findall(r"\w+", phrase.lower())
    rows = [(match.group().lower(), *match.span()) for match in re.finditer(r"\w+", note)]
    found, known = (_ALIKE, 0, 0), set(wanted)
    for first in range(len(rows)):
        if rows[first][0][:4] not in {word[:4] for word in known}:
            continue
        for size in range(max(1, len(wanted) - 2), len(wanted) + 3):
            run = rows[first : first + size]
            ratio = SequenceMatcher(None, " ".join(wanted), " ".join(row[0] for row in run), autojunk=False).ratio()
            found = max(found, (ratio, run[0][1], run[-1][2]), key=lambda one: one[0])
    return found[1:] if found[2] else None
