"""Polarity of mentions: affirmed, denied or uncertain.

The cue words are NegEx's clinical terms (Chapman et al. 2001) with additions for the style of notes; the scope rules
are our own. NegEx extends a cue up to a terminating word. In notes a cue governs a coordination ("denies chills,
nausea, or shortness of breath and reports fatigue"), so a scope here ends at a new clause, an asserting verb, or an
item that is marked as present (a duration, a severity after "no").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical.lexicon import reading
from tasks.simulator.clinical.words import Matcher, Token
from tasks.simulator.resources import load

Polarity = Literal["present", "absent", "uncertain"]
Cue = Literal["before", "after", "pseudo", "end", "open", "supposed", "other"]

_CUES = load("clinical", "cues")
_NEGEX: dict[Cue, str] = {
    "before": "preceding_negations",
    "after": "following_negations",
    "pseudo": "pseudo_negations",
    "end": "termination",
}


def _words(name: str) -> frozenset[str]:
    return frozenset(_CUES[name].split())


_ASSERT, _PRESENT, _REPORTED, _BEGINS = map(_words, ("asserting", "presence", "reported", "begins"))
_SUBJECTS, _BARE_CUES, _CLOSING_CUES = map(_words, ("subjects", "bare", "closing"))


@domain_cache(maxsize=1)
def _cues() -> Matcher[Cue]:
    matcher: Matcher[Cue] = Matcher()
    for cue, name in _NEGEX.items():
        for term in _CUES["negex"][name]:
            if term not in _CUES["dropped"]:
                matcher.add(term, cue)
    for cue in get_args(Cue):
        for pattern in _CUES[cue]:
            matcher.add(pattern.replace("| ", "|"), cue)
    for pattern in reading().pseudo_negations:
        matcher.add(pattern, "pseudo")
    return matcher


@dataclass(frozen=True)
class Scope:
    """A cue and its scope as token ranges (first, one past the last)."""

    polarity: Polarity
    cue: tuple[int, int]
    governed: tuple[int, int]
    other: bool = False  # the cue refers to another person
    supposed: bool = False  # the cue introduces a hypothetical ("if a rash develops")


def scopes(tokens: Sequence[Token]) -> list[Scope]:
    """Return the scopes in the tokens of one sentence."""
    found = sorted(_cues().matches(tokens), key=lambda match: (match[0], -(match[1] - match[0])))
    pseudo = [(start, end) for start, end, cue in found if cue == "pseudo"]
    ends = {start for start, _, cue in found if cue == "end"}
    # a second denial ends the scope of the first: "no rash, and denies nausea"
    ends |= {start for start, end, cue in found if cue == "before" and start > 0 and not _is_post(tokens, start, end)}
    result, taken = [], -1
    for start, end, cue in found:
        hidden = any(a <= start < b and end <= b for a, b in pseudo)
        if cue in ("pseudo", "end") or (hidden and cue in ("before", "after")) or start < taken:
            continue
        if cue == "before" and _is_post(tokens, start, end):
            continue
        ahead = (end, _forward(tokens, end, ends))
        governed = (_backward(tokens, start, ends), start) if cue == "after" else ahead
        denies = cue in ("before", "after")
        taken = end if denies else taken
        polarity: Polarity = "absent" if denies else "uncertain"
        result.append(Scope(polarity, (start, end), governed, other=cue == "other", supposed=cue == "supposed"))
    return result


def _is_post(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Whether a single word such as "negative" ends the clause and governs what precedes it."""
    return tokens[start].low in _CLOSING_CUES and (end >= len(tokens) or tokens[end].low in (".", ",", ";", ")"))


def _forward(tokens: Sequence[Token], start: int, ends: set[int]) -> int:
    """Return one past the last token governed by a cue that ends at ``start``."""
    listing, verb = _list_end(tokens, start), start > 0 and tokens[start - 1].low not in _BARE_CUES
    for at in range(start, len(tokens)):
        low = tokens[at].low
        if at > start and at in ends:
            return at
        if (low == "." and at + 1 < len(tokens)) or (low in (":", "+", "(+)") and at > start):
            return at
        if at > start and (low in _ASSERT or low in _BEGINS) and _new_clause(tokens, at, start):
            return _clause_start(tokens, start, at)
        if (
            at > start
            and tokens[at - 1].low in (",", "and", "with")
            and at >= listing
            and _is_presence(tokens, at, verb)
        ):
            return at - 1
    return len(tokens)


def _list_end(tokens: Sequence[Token], start: int) -> int:
    """Return the end of the item after the last "or" or "nor": the coordination extends at least that far."""
    last = start
    for at in range(start, len(tokens)):
        low = tokens[at].low
        if low in (";", ".") or (low in _ASSERT and at > start and tokens[at - 1].low in ("and", "but", ",")):
            break
        if low in ("or", "nor", "/"):
            last = at + 2
    return last


def _new_clause(tokens: Sequence[Token], at: int, start: int) -> bool:
    """Whether the verb at ``at`` starts a new clause, as opposed to describing the denied item."""
    if _subject(tokens, at, start) is not None:
        return True
    low, before = tokens[at].low, tokens[at - 1].low
    if low in ("is", "are", "was", "were") and at + 1 < len(tokens) and tokens[at + 1].low in _REPORTED:
        return False
    if low in _BEGINS:
        return any(token.low in (",", "and", ";") for token in tokens[max(start, at - 6) : at])
    if at >= start + 3 and tokens[at - 2].low in ("the", "this") and tokens[at - 3].low in (",", "and", ";"):
        return True  # ", and the rash has stayed mild"
    if low in ("is", "are", "was", "were", "there", "appears", "remains"):
        return any(tokens[back].low in (",", "and", ";") for back in range(max(0, at - 4), at)) and low != "were"
    if low in ("had", "has", "felt"):
        return before in (",", "and", "but", "patient", "pt", "they", "also")
    return (
        before in (",", "and", "but", "patient", "pt", "they", "he", "she", "also", "only", "exam", "examination")
        or low == "c/o"
    )


def _subject(tokens: Sequence[Token], at: int, start: int) -> int | None:
    """Return the position of a new subject before the verb at ``at``: ", and the patient in addition has ..."."""
    for back in range(at - 1, max(start, at - 6), -1):
        if tokens[back].low in _SUBJECTS and any(
            t.low in (",", "and", ";", "while") for t in tokens[max(0, back - 3) : back]
        ):
            return back
    return None


def _clause_start(tokens: Sequence[Token], start: int, at: int) -> int:
    """Return where the clause of the verb at ``at`` starts: at the last comma or "and" before it or its subject."""
    at = _subject(tokens, at, start) or at
    for back in range(at - 1, start, -1):
        if tokens[back].low in (",", "and", ";", "but"):
            return back
    return at


def _is_presence(tokens: Sequence[Token], at: int, verb: bool) -> bool:
    """Whether the item at ``at`` is marked as present: a severity at its start, or a duration after it.

    The scope of a verb ("denies chest pain and severe headache") extends over a severity, that of a bare "no" does
    not.
    """
    if tokens[at].low in _PRESENT and not verb:
        return not any(tokens[later].low in ("or", "nor") for later in range(at, min(at + 8, len(tokens))))
    for later in range(at, min(at + 5, len(tokens) - 1)):
        if tokens[later].low in (",", ";", "or", "nor", "and"):
            return False
        if tokens[later].low in ("x", "×", "for") and tokens[later + 1].text[:1].isdigit():
            return True
    return False


def _backward(tokens: Sequence[Token], end: int, ends: set[int]) -> int:
    """Return the first token governed by a cue at ``end`` that looks back: the start of its clause."""
    for at in range(end - 1, -1, -1):
        if tokens[at].low == ":" and at == end - 1:  # "Rash: denied"
            continue
        if tokens[at].low in (";", ":", ".") or (
            at in ends and tokens[at].low not in ("when", "during", "that", "which")
        ):
            return at + 1
        if tokens[at].low in (",", "and") and at + 1 < end and _is_verb_between(tokens, at, end):
            return at + 1
    return 0


def _is_verb_between(tokens: Sequence[Token], at: int, end: int) -> bool:
    """Whether another clause precedes the comma, so that the scope ends there."""
    return any(token.low in _ASSERT for token in tokens[:at]) and tokens[at + 1].low not in ("or", "nor")


def polarity(found: Sequence[Scope], first: int, last: int) -> tuple[Polarity, Scope | None]:
    """Return the polarity of tokens ``first`` to ``last`` (exclusive), and the scope that determines it."""
    for wanted in ("absent", "uncertain"):
        for scope in found:
            inside = scope.governed[0] <= first < scope.governed[1]
            overlaps_cue = scope.cue[0] < last and first < scope.cue[1]
            if scope.polarity == wanted and inside and not overlaps_cue:
                return scope.polarity, scope
    return "present", None
