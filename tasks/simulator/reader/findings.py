"""The clinical content of a text: mentions of symptoms, conditions, diagnoses, signs and drugs, with their polarity."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.reader.lexicon import Entry, is_held_out, matcher, reading, symptoms
from tasks.simulator.reader.negation import Polarity, polarity, scopes
from tasks.simulator.reader.words import Token, tokenize
from tasks.simulator.resources import load
from tasks.text.sections import section_at
from tasks.text.sentences import sentence_spans

_WORDS = load("reader", "words")
_ABSENT, _NORMAL = (frozenset(_WORDS[name].split()) for name in ("absent_by_word", "absent_by_end"))
_PATHOLOGY = tuple(_WORDS["pathology"].split())
NORMAL_BELOW, HIGH_FROM, _SLACK = 37.5, 38.6, 0.35
"""Bounds of a raised and of a high temperature in degrees Celsius, and how far a note may miss them."""
_DEGREES = r"(?:°|º|deg(?:rees)?\.?)"
_NUMBER = r"(?P<value>(?:3[4-9]|4[0-2]|9[4-9]|10[0-8])(?:[.,]\d)?)"
_MEASURED = re.compile(
    rf"\b(?:temperatures?|temps?|tmax|T)\b[.:\s]*(?:\w+\s+|[=~↑:]\s*){{0,4}}?{_NUMBER}\s*{_DEGREES}?\s*(?P<unit>[CF]\b)?"
    rf"|(?<![\d./]){_NUMBER.replace('value', 'bare')}\s*"
    rf"(?:{_DEGREES}\s*(?P<scale>[CF]\b|Celsius|Fahrenheit)?|(?P<letter>[CF])\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Finding:
    """One mention. ``text[start:end]`` names the concept; ``cue`` is the place of the trigger that governs it.

    ``category``: symptom (of the domain), other_symptom, sign, condition, diagnosis or drug. ``kind``: as in the
    lexicon, or measured (a temperature, ``celsius``). ``other``: the mention is about another person.
    """

    concept: str
    category: str
    kind: str
    start: int
    end: int
    polarity: Polarity
    section: str
    sentence: tuple[int, int]
    cue: tuple[int, int] | None = None
    celsius: float | None = None
    other: bool = False

    @property
    def in_examination(self) -> bool:
        """Whether the mention stands in the physical examination."""
        return self.section == "physical_examination"


@domain_cache(maxsize=4_000)
def find(text: str) -> tuple[Finding, ...]:
    """All findings of ``text`` by place; of overlapping mentions of one concept the longest is kept."""
    measured = list(_temperatures(text))
    found = [one for sentence in sentence_spans(text) for one in _in_sentence(text, sentence)]
    worded = [f for f in found if not any(f.concept == m.concept and _overlap(f, m) for m in measured)]
    kept: list[Finding] = []
    for finding in sorted(worded + measured, key=lambda f: (f.start, f.end, f.concept)):
        if _counts(finding, kept, text):
            kept.append(finding)
    return tuple(kept)


def _overlap(one: Finding, other: Finding) -> bool:
    return other.start < one.end and one.start < other.end


def _counts(finding: Finding, before: Sequence[Finding], text: str) -> bool:
    """Whether a finding counts: a part of a symptom if present, an anaphor ("the pain") if it refers to the symptom."""
    if finding.kind != "anaphor":
        return finding.kind != "feature" or finding.polarity == "present"
    words = reading().anaphors.get(finding.concept, ())
    for earlier in reversed(before):
        if earlier.concept == finding.concept and earlier.kind != "weak":
            return earlier.polarity == "present"
        said = text[earlier.start : earlier.end].lower()
        if earlier.category == "other_symptom" and any(word in said for word in words):
            return False
    return False


def _in_sentence(text: str, sentence: tuple[int, int]) -> list[Finding]:
    tokens = tokenize(text, *sentence)
    return [_finding(text, tokens, match, sentence) for match in _kept(matcher().matches(tokens), text, tokens)]


def _kept(
    matches: Iterable[tuple[int, int, Entry]], text: str, tokens: Sequence[Token]
) -> list[tuple[int, int, Entry]]:
    """The longest match of each concept that no blocker hides and that is not held out."""
    listed = sorted(matches, key=lambda m: (-(m[1] - m[0]), m[0], m[2].kind))
    blockers = [(a, b) for a, b, entry in listed if entry.category == "none"]
    kept: list[tuple[int, int, Entry]] = []
    for first, last, entry in listed:
        if entry.category == "none" or any(e.concept == entry.concept and a < last and first < b for a, b, e in kept):
            continue
        inside = [1 for a, b in blockers if a <= first and last <= b and b - a > last - first]
        if inside and entry.category in ("symptom", "condition"):
            continue
        if entry.category != "symptom" or not is_held_out(text[tokens[first].start : tokens[last - 1].end]):
            kept.append((first, last, entry))
    return kept


def _finding(text: str, tokens: Sequence[Token], match: tuple[int, int, Entry], sentence: tuple[int, int]) -> Finding:
    first, last, entry = match
    start, end, offset = tokens[first].start, tokens[last - 1].end, sentence[0]
    known = scopes(text[slice(*sentence)])
    stated, scope = polarity(known, start - offset, end - offset, symptom=entry.category == "symptom")
    if entry.category == "symptom" and _absent_by_itself(tokens[first:last], entry):
        near = scope is not None and 0 <= start - offset - scope.cue[1] <= 1 and tokens[first].low != "afebrile"
        stated = "present" if stated == "absent" and near else "absent"
    cue = (scope.cue[0] + offset, scope.cue[1] + offset) if scope else None
    is_others, section = scope is not None and scope.kind == "other", section_at(text, start)
    return Finding(*entry, start, end, stated, section, sentence, cue, other=is_others)


def _absent_by_itself(match: Sequence[Token], entry: Entry) -> bool:
    """Whether the wording itself says that the symptom is absent: "afebrile", "breathing comfortably"."""
    if entry.kind == "calm" or any(word.low in _ABSENT for word in match):
        return True
    if entry.kind != "exam":
        return False
    if match[0].full in ("normal", "good", "easy") or any(word.low == "free" for word in match):
        return True
    abnormal = any(word.low.startswith((*_PATHOLOGY, *reading().abnormal_signs)) for word in match)
    return match[-1].full in _NORMAL and entry.concept in reading().normal_by_last_word and not abnormal


def level_of(celsius: float) -> str:
    """The level of a temperature in degrees Celsius: none, low or high."""
    return "none" if celsius < NORMAL_BELOW else "low" if celsius < HIGH_FROM else "high"


def fits_level(celsius: float, level: str) -> bool:
    """Whether a temperature agrees with a level, with some slack at the bounds."""
    return level in {level_of(celsius - _SLACK), level_of(celsius), level_of(celsius + _SLACK + 0.3)}


def _temperatures(text: str) -> Iterable[Finding]:
    """Temperatures as findings of the symptom that they state: present from 37.5 °C, otherwise absent."""
    symptom = reading().temperature
    for match in _MEASURED.finditer(text) if symptom else ():
        number = float((match["value"] or match["bare"]).replace(",", "."))
        unit = (match["unit"] or match["scale"] or match["letter"] or "").upper()
        celsius = round((number - 32) / 1.8, 1) if unit.startswith("F") or (not unit and number > 60) else number
        if not 33 <= celsius <= 43:
            continue
        start, end = match.span()
        end += "(" in match.group() and text[end : end + 1] == ")"
        sentence = next((s for s in sentence_spans(text) if s[0] <= start < s[1]), (start, end))
        stated: Polarity = "absent" if celsius < NORMAL_BELOW else "present"
        named = (symptom or "", "symptom", "measured", start, end)
        yield Finding(*named, stated, section_at(text, start), sentence, celsius=celsius)


def mentions(text: str, symptom: str) -> list[Finding]:
    """The mentions of a symptom that concern the patient; weak ones (an ache without a place) for want of others."""
    found = [f for f in find(text) if f.concept == symptom and not f.other and f.polarity != "uncertain"]
    return [f for f in found if f.kind != "weak"] or found


def symptoms_in(text: str) -> list[str]:
    """The symptoms of the domain that a text mentions, in order."""
    return list(dict.fromkeys(f.concept for f in find(text) if f.concept in symptoms()))
