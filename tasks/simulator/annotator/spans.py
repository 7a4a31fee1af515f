"""Symptom spans of a note: for each mention the stretch that states whether the symptom is present, and how."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.simulator.annotator.anaphora import descriptions
from tasks.simulator.annotator.mentions import is_passing
from tasks.simulator.annotator.span_boundaries import clause, phrase_end, phrase_start, trimmed, with_verb
from tasks.simulator.annotator.span_settings import IN_USE, SpanSettings
from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.clinical.vocabulary import reading, symptoms


@dataclass(frozen=True)
class Span:
    """``note[start:end]`` states that ``symptom`` is present or absent (``polarity``)."""

    symptom: str
    start: int
    end: int
    polarity: str


def find_spans(note: str, settings: SpanSettings = IN_USE) -> list[Span]:
    """Return the symptom spans of ``note`` in order of position."""
    mentions = _stating_mentions(note, settings)
    generic = not any(f.polarity == "present" for f in mentions)
    found: list[Span] = []
    for finding in mentions:
        others = [f for f in mentions if f.concept != finding.concept and f.sentence == finding.sentence]
        if finding.polarity == "absent":
            start, end = _denial(note, finding, mentions, settings, generic=generic)
        else:
            here = [f for f in mentions if f.concept == finding.concept and f.sentence == finding.sentence]
            same = [f for f in here if f.polarity == "present"]
            start, end = _assertion(note, finding, others, same, settings)
        if end > start:
            found.append(Span(finding.concept, start, end, finding.polarity))
    for symptom, start, end in descriptions(note, mentions) if settings.descriptions else ():
        found.append(Span(symptom, *trimmed(note, start, end), "present"))
    return _merged(found)


def _stating_mentions(note: str, settings: SpanSettings) -> list[Finding]:
    """Mentions that state a symptom; normal findings and signs only where there is no other mention of the symptom."""
    mentions = [f for f in findings.find(note) if f.category == "symptom" and _is_stated(note, f)]
    mentions = [f for f in mentions if settings.references or f.kind != "anaphor"]
    plain = {f.concept for f in mentions if not _is_side(f)}
    present = {f.concept for f in mentions if f.polarity == "present" and not _is_side(f)}
    if settings.repeated_signs:
        return mentions
    if not plain:
        return [f for f in mentions if not _is_side(f)]
    kept = []
    for finding in mentions:
        others = present if _signs_state(finding) else plain
        if not _is_side(finding) or finding.concept not in others:
            kept.append(finding)
    return kept


def _is_side(finding: Finding) -> bool:
    """Whether a mention counts only for lack of another: a normal finding."""
    sign = _signs_state(finding) and finding.section == "physical_examination"
    return finding.polarity == "absent" and (sign or (finding.kind == "exam" and not _denial_states(finding)))


def _signs_state(finding: Finding) -> bool:
    """Whether a sign on examination states the symptom, as a discharge that is seen."""
    return finding.concept in reading().signs_state


def _denial_states(finding: Finding) -> bool:
    """Whether a denied sign denies the symptom once more, as tenderness that palpation does not elicit."""
    return finding.concept in reading().denied_signs_state


def _is_stated(note: str, finding: Finding) -> bool:
    """Whether a mention states the patient's symptom, neither incidentally nor as a normal finding."""
    if finding.other or finding.polarity == "uncertain" or finding.concept not in symptoms():
        return False
    if finding.polarity == "absent" and finding.kind == "measured":
        return False
    return finding.kind != "weak" and not is_passing(note, finding)


_JOINT = re.compile(r",\s*(?:and|with|or|but)?\s|\s(?:and|with|or|w/|&|but|plus)\s")


def _assertion(
    note: str, finding: Finding, others: Sequence[Finding], same: Sequence[Finding], settings: SpanSettings
) -> tuple[int, int]:
    start, end = clause(note, finding)
    for other in others:
        if start < other.end <= finding.start:
            joints = list(_JOINT.finditer(note, other.end, finding.start))
            start = joints[-1].end() if joints else other.end
    comma = note.rfind(",", start, finding.start)
    if finding.section == "physical_examination" and comma != -1:
        start = comma + 1
    short = phrase_start(note, start, finding)
    end = trimmed(note, short, phrase_end(note, finding, end, others, same, settings.modifier_excess))[1]
    return trimmed(note, with_verb(note, start, short, end) if settings.reporting_verb else short, end)


def _denial(
    note: str, finding: Finding, mentions: Sequence[Finding], settings: SpanSettings, *, generic: bool
) -> tuple[int, int]:
    """From the negation cue to the symptom: includes the preceding items of a list, which share the cue."""
    if finding.cue is None:
        return finding.start, finding.end
    if finding.cue[0] > finding.start:
        start, _ = clause(note, finding)
        return trimmed(note, phrase_start(note, start, finding), finding.cue[1])
    together = [f for f in mentions if f.cue == finding.cue and f.sentence == finding.sentence]
    last = max(f.end for f in together)
    end = finding.end
    if settings.whole_denied_list and len({f.concept for f in together}) > 1:
        closing = _CLOSING_VERB.match(note, last, finding.sentence[1])
        end = closing.end() if closing else last if generic else end
    if settings.denied_circumstances and last in (finding.end, end):
        end += len(_DENIED_TAIL.match(note, end, finding.sentence[1]).group())  # type: ignore[union-attr]
        more = _DENIED_FURTHER.match(note, end, finding.sentence[1])
        end = more.end() if more else end
    start, end = trimmed(note, finding.cue[0], end)
    full = _statement_start(note, finding.sentence[0], start)
    return with_verb(note, full, start, end) if settings.reporting_verb else start, end


def _statement_start(note: str, sentence: int, denial: int) -> int:
    """Return where the statement of a denial starts: "there is" of "there is no rash"."""
    found = _STATES.search(note, sentence, denial)
    return found.start() if found else denial


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


def _merged(found: Sequence[Span]) -> list[Span]:
    """Merge overlapping spans of the same symptom and polarity."""
    merged: list[Span] = []
    for phrase in sorted(found, key=lambda p: (p.symptom, p.start, p.end)):
        last = merged[-1] if merged else None
        if last and last.symptom == phrase.symptom and phrase.start < last.end and last.polarity == phrase.polarity:
            merged[-1] = Span(last.symptom, last.start, max(last.end, phrase.end), last.polarity)
        else:
            merged.append(phrase)
    return sorted(merged, key=lambda p: (p.start, p.end, p.symptom))
