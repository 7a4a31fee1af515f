"""Phrase tables of the compact writer: abbreviations and telegraphic syntax, compiled to one prefix tree."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.resources import read_data

NUMBERS = {
    word: str(value)
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
}
UNITS = {
    "day": "day", "days": "days", "week": "wk", "weeks": "wks", "month": "mo", "months": "mos",
    "year": "yr", "years": "yrs", "hour": "hr", "hours": "hrs", "minute": "min", "minutes": "min",
}  # fmt: skip
SIDES = frozenset(["left", "right"])
_BEFORE_SIDES = frozenset(["the", "on", "than"])
_TOKEN = re.compile(r"\d+(?:[./]\d+)*|°[CF]|[A-Za-z]+\d*(?:['’][a-z]+)?(?:-[A-Za-z]+(?:['’][a-z]+)?)*|[^\sA-Za-z0-9]")


@dataclass(slots=True)
class Token:
    """A word, number or sign of the source, ``source[start:end]``."""

    text: str
    key: str  # lower case; "patient" for "the patient"
    start: int
    end: int


@dataclass(frozen=True)
class Tables:
    """``tree``: nested dicts of keys; under None (shorter forms, probability of use in a note).

    ``drop``, ``verbs``: words that may be dropped. ``sided``: words before which "left" and "right" are sides.
    """

    tree: dict[Any, Any]
    drop: frozenset[str]
    verbs: frozenset[str]
    sided: frozenset[str]
    symptom_words: frozenset[str]


def tokens(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Return the tokens of ``text[start:end]``; "the patient" is one token."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        word = match[0]
        key = word.lower()
        if key == "patient" and found and found[-1].key == "the":
            article = found.pop()
            found.append(Token(f"{article.text} {word}", "patient", article.start, match.end()))
        else:
            found.append(Token(word, key, match.start(), match.end()))
    return found


def is_side(words: list[Token], index: int) -> bool:
    """Whether "left" or "right" at ``index`` is a side: no verb ("left the room") and no adverb ("right after")."""
    before = words[index - 1].key if index else ""
    following = words[index + 1].key if index + 1 < len(words) else ""
    near = {word.key for word in words[max(index - 3, 0) : index + 4]}
    return following in tables().sided or before in _BEFORE_SIDES or near >= SIDES


def _forms(value: object) -> tuple[str, ...]:
    return tuple(form.strip() for form in str(value if value is not None else "").split(" | "))


class Shorthand(Section):
    """The content of ``shorthand.yaml``: words of the domain, their abbreviations and shorter phrases."""

    symptom_words: str
    common: list[str] = Field(default_factory=list)  # nearly always abbreviated
    abbreviations: dict[str, str] = Field(default_factory=dict)
    phrases: dict[str, str] = Field(default_factory=dict)


@domain_cache(maxsize=1)
def shorthand_of_domain() -> Shorthand:
    """Shorter forms of the domain in use."""
    return Shorthand.model_validate(domain_data("writer/shorthand"))


@domain_cache(maxsize=1)
def tables() -> Tables:
    """Return all phrase tables, the domain's among them. Syntax takes precedence over abbreviations."""
    telegraphic, abbreviations, own = (
        read_data("telegraphic.yaml"),
        read_data("abbreviations.yaml"),
        shorthand_of_domain(),
    )
    tree: dict[Any, Any] = {}
    common = {*telegraphic["common"].split(", "), *own.common}
    for terms in (*abbreviations.values(), own.abbreviations):
        for term, value in terms.items():
            chance = writer_rates().compact["abbreviated_common" if str(term) in common else "abbreviated"]
            _add(tree, [token.key for token in tokens(str(term))], _forms(value), chance)
    for phrase, value in (telegraphic["phrases"] | own.phrases).items():
        keys = ["#" if word == "#" else "@" if word == "@" else word for word in _split(phrase)]
        _add(tree, keys, _forms(value), 1.0)
    return Tables(
        tree,
        frozenset(telegraphic["drop"]),
        frozenset(telegraphic["drop_verbs"]),
        frozenset(telegraphic["sided"].split()),
        frozenset([*telegraphic["symptom_words"].split(), *own.symptom_words.split()]),
    )


def _split(phrase: str) -> list[str]:
    words = []
    for word in phrase.lower().split():
        words += [word] if word in "#@" else [token.key for token in tokens(word)]
    joined: list[str] = []
    for word in words:
        if word == "patient" and joined and joined[-1] == "the":
            joined[-1] = "patient"
        else:
            joined.append(word)
    return joined


def _add(tree: dict[Any, Any], keys: list[str], forms: tuple[str, ...], chance: float) -> None:
    node = tree
    for key in keys:
        node = node.setdefault(key, {})
    node[None] = (forms, chance)
