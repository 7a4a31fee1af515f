"""The clinical content of a text: mentions of symptoms, conditions, diagnoses, signs and drugs, with their polarity.

Negation, uncertainty and other persons are as in ConText (Harkema et al. 2009; NegEx: Chapman et al. 2001): a trigger
governs the text after it, or before it, up to a termination term or the end of the sentence. Pseudo-triggers hide the
triggers within them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tasks.domains.in_use import domain_cache
from tasks.simulator.reader.lexicon import Item, concepts, is_held_out, matches, reading, symptoms
from tasks.simulator.reader.words import Token, tokenize
from tasks.simulator.resources import any_of, load
from tasks.text.sections import section_at
from tasks.text.sentences import sentence_spans

Polarity = Literal["present", "absent", "uncertain"]
Kind = Literal["before", "after", "possible", "supposed", "other"]
_CUES = load("reader", "cues")
_KINDS: tuple[Kind, ...] = ("after", "before", "possible", "supposed", "other")
_TRIGGERS = {kind: re.compile(rf"(?<![\w-]){any_of(_CUES[kind])}(?![\w-])", re.IGNORECASE) for kind in _KINDS}
_PSEUDO, _END, _ITEM = (re.compile(any_of(_CUES[name]), re.IGNORECASE) for name in ("pseudo", "end", "item"))
_BARE = frozenset(_CUES["bare"].split())


@dataclass(frozen=True)
class Scope:
    """A trigger at ``cue`` and the stretch that it governs."""

    kind: Kind
    cue: tuple[int, int]
    governed: tuple[int, int]

    def holds(self, start: int, end: int) -> bool:
        """Whether a mention begins within the governed stretch and does not overlap the trigger."""
        apart = end <= self.cue[0] or self.cue[1] <= start
        return apart and self.governed[0] <= start < self.governed[1]


@domain_cache(maxsize=20_000)
def scopes(sentence: str) -> tuple[Scope, ...]:
    """The scopes of the triggers of a sentence, denials first."""
    hidden = [match.span() for match in _PSEUDO.finditer(sentence)]
    ends = [match.span() for match in _END.finditer(sentence)]
    items = [match.start() for match in _ITEM.finditer(sentence)]
    found: list[Scope] = []
    for kind, trigger in _TRIGGERS.items():
        for match in trigger.finditer(sentence):
            start, end = match.span()
            if kind in ("before", "after") and any(a <= start and end <= b for a, b in hidden):
                continue
            if kind == "before" and any(one.kind == "after" and one.cue[0] <= start < one.cue[1] for one in found):
                continue
            if kind == "after":
                governed = max((b for _, b in ends if b <= start), default=0), start
            else:
                stops = [a for a, _ in ends if a >= end]
                joined = re.search(r"\b(?:or|nor)\b", sentence[end : min(stops, default=len(sentence))])
                if kind == "before" and match.group().lower() in _BARE and joined is None:
                    stops += [a for a in items if a > end]
                if kind == "before":
                    stops += [m.start() for m in _TRIGGERS["before"].finditer(sentence, end + 1)]
                governed = end, min(stops, default=len(sentence))
            found.append(Scope(kind, (start, end), governed))
    return tuple(found)


def polarity(found: tuple[Scope, ...], start: int, end: int, *, symptom: bool = False) -> tuple[Polarity, Scope | None]:
    """The polarity of a mention in the sentence, and the scope that determines it.

    A symptom that is called likely counts as stated.
    """
    for scope in found:
        if scope.kind in ("before", "after") and scope.holds(start, end):
            return "absent", scope
    for scope in found:
        unsure = scope.kind in ("supposed", "other") or (scope.kind == "possible" and not symptom)
        if unsure and scope.holds(start, end):
            return "uncertain", scope
    return "present", None


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
    worded = []
    for sentence in sentence_spans(text):
        tokens = tokenize(text, *sentence)
        worded += [_finding(text, tokens, match, sentence) for match in _kept(text, tokens)]
    for m in measured:
        worded = [f for f in worded if f.concept != m.concept or f.end <= m.start or m.end <= f.start]
    kept: list[Finding] = []
    for finding in sorted(worded + measured, key=lambda f: (f.start, f.end, f.concept)):
        if _counts(finding, kept, text):
            kept.append(finding)
    return tuple(kept)


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


def _kept(text: str, tokens: Sequence[Token]) -> list[tuple[int, int, Item]]:
    """The longest match of each concept that no blocker hides and that is not held out."""
    listed = sorted(matches(tokens), key=lambda m: (-(m[1] - m[0]), m[0], m[2].kind))
    blockers = [(a, b) for a, b, item in listed if item.category == "none"]
    kept: list[tuple[int, int, Item]] = []
    for first, last, item in listed:
        if item.category == "none" or any(i.concept == item.concept and a < last and first < b for a, b, i in kept):
            continue
        inside = any(a <= first and last <= b and b - a > last - first for a, b in blockers)
        if inside and item.category in ("symptom", "condition"):
            continue
        if item.category != "symptom" or not is_held_out(text[tokens[first].start : tokens[last - 1].end]):
            kept.append((first, last, item))
    return kept


def _finding(text: str, tokens: Sequence[Token], match: tuple[int, int, Item], sentence: tuple[int, int]) -> Finding:
    first, last, item = match
    start, end, offset = tokens[first].start, tokens[last - 1].end, sentence[0]
    known = scopes(text[slice(*sentence)])
    stated, scope = polarity(known, start - offset, end - offset, symptom=item.category == "symptom")
    if item.category == "symptom" and _absent_by_itself(tokens[first:last], item):
        near = scope is not None and 0 <= start - offset - scope.cue[1] <= 1 and tokens[first].low != "afebrile"
        stated = "present" if stated == "absent" and near else "absent"
    cue = (scope.cue[0] + offset, scope.cue[1] + offset) if scope else None
    is_others, section = scope is not None and scope.kind == "other", section_at(text, start)
    named = item.concept, item.category, item.kind
    return Finding(*named, start, end, stated, section, sentence, cue, other=is_others)


def _absent_by_itself(match: Sequence[Token], item: Item) -> bool:
    """Whether the wording itself says that the symptom is absent: "afebrile", "breathing comfortably"."""
    if item.kind == "calm" or any(word.low in _ABSENT for word in match):
        return True
    if item.kind != "exam":
        return False
    if match[0].full in ("normal", "good", "easy") or any(word.low == "free" for word in match):
        return True
    abnormal = any(word.low.startswith((*_PATHOLOGY, *reading().abnormal_signs)) for word in match)
    return match[-1].full in _NORMAL and item.concept in reading().normal_by_last_word and not abnormal


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


def symptom_of(name: str) -> str:
    """The lexicon's name of a symptom; the given name if it is unknown."""
    bare = name.strip().lower()
    if label := {name.lower(): name for name in symptoms()}.get(bare):
        return label
    known = (label for word, label in reading().known_by.items() if word in bare)
    return next(known, next((f.concept for f in find(bare) if f.category == "symptom"), bare))


def condition_of(name: str) -> str:
    """The lexicon's name of a condition; the given name if it is unknown."""
    bare = name.strip()
    known = concepts().get(bare.lower())
    return known or next((f.concept for f in find(bare) if f.category == "condition"), bare)
