"""Negation, uncertainty and other persons, as in ConText (Harkema et al. 2009; NegEx: Chapman et al. 2001).

A trigger governs the text after it, or before it, up to a termination term or the end of the sentence. Pseudo-triggers
hide the triggers within them.
"""

import re
from dataclasses import dataclass
from typing import Literal

from tasks.domains.in_use import domain_cache
from tasks.simulator.resources import any_of, load

Polarity = Literal["present", "absent", "uncertain"]
Kind = Literal["before", "after", "possible", "supposed", "other"]
_CUES = load("reader", "cues")
_KINDS: tuple[Kind, ...] = ("before", "after", "possible", "supposed", "other")
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
    for kind in ("after", "before", "possible", "supposed", "other"):
        for match in _TRIGGERS[kind].finditer(sentence):
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
