"""Find the exact words of a note that an imprecise quotation refers to."""

import re
from collections import Counter
from difflib import SequenceMatcher

from tasks.domains.in_use import domain_cache

_WORD = re.compile(r"[A-Za-z0-9]+(?:[.,]\d+)?")
_ELISION = re.compile(r"\s*(?:\.{3,}|…)\s*")
_LEAST_ALIKE = 0.72
_LONGEST_STRETCH = 400


def correct(note: str, phrase: str) -> str:
    """Return the stretch of ``note`` that ``phrase`` quotes; empty when no stretch is similar enough.

    A phrase with ``...`` matches the stretch from its first to its last part. Otherwise the best run of words is
    returned, if its Ratcliff-Obershelp ratio is at least 0.72.
    """
    parts = [part for part in _ELISION.split(phrase) if _WORD.search(part)]
    if not parts:
        return ""
    places = [_best(note, part) for part in parts]
    if len(parts) == 1:
        return note[places[0][0] : places[0][1]] if places[0] else ""
    first = places[0]
    last = _best(note, parts[-1], after=first[1]) if first else None
    if first is None or last is None or last[1] - first[0] > _LONGEST_STRETCH:
        return ""
    return note[first[0] : last[1]]


@domain_cache(maxsize=256)
def _words(note: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((m.group().lower(), m.start(), m.end()) for m in _WORD.finditer(note))


def _best(note: str, phrase: str, after: int = 0) -> tuple[int, int] | None:
    wanted = [m.group().lower() for m in _WORD.finditer(phrase)]
    rows = _words(note)
    slack = 1 + len(wanted) // 4
    found: tuple[float, int, int] = (_LEAST_ALIKE, 0, 0)
    bag = Counter(w[:4] for w in wanted)
    for first in range(len(rows)):
        if rows[first][1] < after:
            continue
        for size in range(max(1, len(wanted) - slack), len(wanted) + slack + 1):
            run = rows[first : first + size]
            if len(run) < size:
                break
            shared = sum((Counter(w[0][:4] for w in run) & bag).values())
            if 2 * shared < 0.5 * (size + len(wanted)):
                continue
            ratio = SequenceMatcher(None, " ".join(wanted), " ".join(w[0] for w in run), autojunk=False).ratio()
            if ratio > found[0]:
                found = (ratio, run[0][1], run[-1][2])
    return (found[1], _closed(note, found[1], found[2])) if found[2] else None


def _closed(note: str, start: int, end: int) -> int:
    """Extend the end over a closing bracket or a unit sign."""
    while note[end : end + 1] and note[end] in "%°+" and end - start < _LONGEST_STRETCH:
        end += 1
    if note[start:end].count("(") > note[start:end].count(")") and note[end : end + 1] == ")":
        end += 1
    return end
