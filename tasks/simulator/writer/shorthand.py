"""A sentence in clinical shorthand: known terms get their short forms, function words go.

The terms are the table ``data/shorthand.yaml`` and the domain's own ``writer/shorthand.yaml``.
"""

import random
import re
from typing import Any, NamedTuple

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.simulator.resources import load

_TABLE: dict[str, Any] = load("writer", "shorthand")
NUMBERS = {word: str(value) for value, word in enumerate(_TABLE["numbers"].split())}
_UNITS: dict[str, str] = _TABLE["units"]
SIDE = re.compile(rf"\b(?:left|right)(?=[- ](?:{'|'.join(_TABLE['sided'].split())})\b)", re.IGNORECASE)
"""A side, in contrast to "left the room" and "right after"."""
_NUMBER = re.compile(rf"\b(?:\d+(?:[./]\d+)*|{'|'.join(list(NUMBERS)[1:])})\b", re.IGNORECASE)
_UNIT = re.compile(rf"\b(?:{'|'.join(sorted(_UNITS, key=len, reverse=True))})\b", re.IGNORECASE)
_SLOTS = {"#": _NUMBER.pattern, "@": _UNIT.pattern}
_TOKEN = r"\d+(?:[./]\d+)*|°[CF]|[A-Za-z]+\d*(?:['’-][A-Za-z]+)*|[^\sA-Za-z0-9]"
_BEFORE = r"(?<![\w-])"
_DROPPED, _VERBS, _KEEP_VERB, _PER, _SOME = (
    frozenset(_TABLE[name].split()) for name in ("dropped", "verbs", "keep_verb", "per", "some")
)
_ARTICLES = ("a", "an")
_VERB_ENDS = frozenset(".,;:!?)")
_NO_SPACE_BEFORE = frozenset(",.;:)%?!/°")
_NO_SPACE_AFTER = frozenset("/(")


class Shorthand(Section):
    """The content of a domain's ``shorthand.yaml``: words of its symptoms, and short forms of its terms."""

    symptom_words: str
    terms: dict[str, str] = Field(default_factory=dict)


class Written(NamedTuple):
    """A stretch ``source[start:end]`` in shorthand; ``glued``: without a blank before it."""

    text: str
    start: int
    end: int
    glued: bool


@domain_cache(maxsize=1)
def shorthand_of_domain() -> Shorthand:
    """Short forms of the domain in use."""
    return Shorthand.model_validate(domain_data("writer/shorthand"))


@domain_cache(maxsize=1)
def symptom_words() -> frozenset[str]:
    """Words of symptoms: a sentence that has one is not omitted."""
    return frozenset([*_TABLE["symptom_words"].split(), *shorthand_of_domain().symptom_words.split()])


@domain_cache(maxsize=1)
def _terms() -> tuple[re.Pattern[str], list[tuple[str, ...]]]:
    """A pattern whose n-th group is the n-th term, longest first, and the short forms of each."""
    forms = _TABLE["terms"] | shorthand_of_domain().terms
    terms = sorted(forms, key=lambda term: (-len(term.split()), -len(term), term))
    alternatives = []
    for term in terms:
        words = r"\s+".join(_SLOTS.get(word, re.escape(word)) for word in term.split())
        words = words.replace(r"the\s+patient", r"(?:the\s+)?patient")
        alternatives.append(rf"{'' if term[0] == ',' else _BEFORE}({words})(?![\w-])")
    pattern = re.compile(rf"{'|'.join(alternatives)}|{_TOKEN}", re.IGNORECASE)
    return pattern, [tuple(form.strip() for form in (forms[term] or "").split("|")) for term in terms]


class Writer:
    """Writes the sentences of one note, each term in one short form throughout."""

    def __init__(self, rng: random.Random, abbreviated: float) -> None:
        """``abbreviated``: the probability that a term of several forms is shortened at all in this note."""
        self.rng, self.abbreviated = rng, abbreviated
        self.chosen: dict[int, str] = {}

    def write(self, note: str, start: int, end: int) -> list[Written]:
        """The sentence ``note[start:end]`` in shorthand."""
        pattern, forms = _terms()
        found = list(pattern.finditer(note, start, end))
        written: list[Written] = []
        for at, match in enumerate(found):
            word = match[0].lower()
            following = found[at + 1][0].lower() if at + 1 < len(found) else "."
            if match.lastindex is not None:
                text = self._form(match.lastindex - 1, forms)
                text = text.replace("#", _number(match[0])).replace("@", _unit(match[0]))
            elif word in _ARTICLES and (article := _article(found[at - 1][0].lower() if at else "", following)):
                text = article
            elif word in _DROPPED or (word.isalpha() and _needless(word, written, following)):
                text = ""
            elif word in NUMBERS and (word != "one" or following in _UNITS):
                text = NUMBERS[word]
            elif SIDE.match(note, match.start(), end):
                text = word[0].upper()
            else:
                text = match[0] if match[0][1:] != match[0][1:].lower() else word if written else match[0]
            if text:
                _append(written, text, match.start(), match.end())
        while written and written[-1].text in (",", ";", ":", "and", "&", "but", "with", "w/"):
            written.pop()
        return written

    def _form(self, term: int, forms: list[tuple[str, ...]]) -> str:
        if term not in self.chosen:
            several = forms[term]
            used = len(several) == 1 or self.rng.random() < self.abbreviated
            self.chosen[term] = self.rng.choice(several) if used else several[-1]
        return self.chosen[term]


def _append(written: list[Written], text: str, start: int, end: int) -> None:
    """Add ``text``, without punctuation that has nothing before it, or other punctuation."""
    before = written[-1].text if written else ""
    if text in (",", ";", ":", ".") and (before in ("", "-", "Also") or before[-1] in ",;:."):
        return
    if text[0] in ",;:" and before in (",", ";"):
        written.pop()
        before = written[-1].text if written else ""
    glued = bool(before) and (text[0] in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER)
    if before and before[-1] not in ".:" and text.split()[0] in ("Denies", "No", "Not", "Also", "Reports", "Pt"):
        text = text[0].lower() + text[1:]
    written.append(Written(text, start, end, glued))


def _article(before: str, following: str) -> str:
    """What an article becomes where it cannot go: "twice/week", "1 wk", "a few"."""
    if before in _PER:
        return "/"
    return "1" if following in _UNITS else "a" if following in _SOME else ""


def _needless(word: str, written: list[Written], following: str) -> bool:
    """Whether ``word`` may go: "no any", "known known", forms of "to be" after a noun: "the chest is clear"."""
    before = written[-1].text.lower() if written else "it"
    if word in before.split():
        return True
    if word == "any":
        return before == "no"
    near = before not in _KEEP_VERB and before[-1] not in _VERB_ENDS
    return word in _VERBS and near and following not in _VERB_ENDS


def _number(text: str) -> str:
    found = _NUMBER.search(text)
    return NUMBERS.get(found[0].lower(), found[0]) if found else ""


def _unit(text: str) -> str:
    found = _UNIT.search(text)
    return _UNITS[found[0].lower()] if found else ""
