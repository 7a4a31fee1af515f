"""Rewrite one sentence in shorthand: replace known phrases, drop function words, shorten conjunctions.

The phrase tables (abbreviations and telegraphic syntax) are compiled to one prefix tree.
"""

import random
import re
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.simulator.resources import load
from tasks.simulator.writer.rules import writer_rates

_SYNTAX = load("writer", "telegraphic")
NUMBERS = {word: str(value) for value, word in enumerate(_SYNTAX["numbers"].split())}
UNITS = _SYNTAX["units"]
SIDES = frozenset(["left", "right"])
_BEFORE_SIDES = frozenset(["the", "on", "than"])
_TOKEN = re.compile(
    r"\d+(?:-[a-z]+){2,}|\d+(?:[./]\d+)*|°[CF]|[A-Za-z]+\d*(?:['’][a-z]+)?(?:-[A-Za-z]+(?:['’][a-z]+)?)*|[^\sA-Za-z0-9]"
)


@dataclass(slots=True)
class Token:
    """A word, number or sign of the source, ``source[start:end]``."""

    text: str
    key: str  # lower case; "patient" for "the patient"
    start: int
    end: int


@dataclass(frozen=True)
class Tables:
    """``tree``: nested dicts of keys; under None (shorter forms, probability of use in a note)."""

    tree: dict[Any, Any]
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
    return following in _SIDED or before in _BEFORE_SIDES or near >= SIDES


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
    abbreviations, own = load("writer", "abbreviations"), shorthand_of_domain()
    tree: dict[Any, Any] = {}
    common = {*_SYNTAX["common"].split(", "), *own.common}
    for terms in (*abbreviations.values(), own.abbreviations):
        for term, value in terms.items():
            chance = writer_rates().compact["abbreviated_common" if str(term) in common else "abbreviated"]
            _add(tree, [token.key for token in tokens(str(term))], _forms(value), chance)
    for phrase, value in (_SYNTAX["phrases"] | own.phrases).items():
        _add(tree, [token.key for token in tokens(phrase)], _forms(value), 1.0)
    return Tables(tree, frozenset([*_SYNTAX["symptom_words"].split(), *own.symptom_words.split()]))


def _add(tree: dict[Any, Any], keys: list[str], forms: tuple[str, ...], chance: float) -> None:
    node = tree
    for key in keys:
        node = node.setdefault(key, {})
    node[None] = (forms, chance)


_NO_SPACE_BEFORE = frozenset(",.;:)%?!/")
_JOINED = frozenset("/(")
_CAPITALISED, _REPORTED = frozenset(_SYNTAX["capitalised"]), frozenset(_SYNTAX["reported"])
_DROP, _DROP_VERBS, _SIDED, _CLAUSE_OPENERS = (
    frozenset(_SYNTAX[name].split()) for name in ("drop", "drop_verbs", "sided", "openers")
)
_ADVERBS, _PLURAL_VERBS = (frozenset(_SYNTAX[name].split()) for name in ("adverbs", "plural_verbs"))
_KEEP_VERB = frozenset(["it", "when", "who", "that", "what", "there", "where", "how", "if"])
"""Words after which a verb is not omitted: "when it is worst", "anyone who is ill"."""
_ITEM_ENDS = frozenset(".,;:")
_JOINTS = frozenset([",", ";", "and"])
_HANGING = frozenset([",", ";", ":", "&", "or", "and", "w/", "with"])  # not before a stop
_AND = (("and",) * 7 + ("&",), 1.0)  # spellings of "and"

Out = tuple[str, int, int, bool]  # text, source start, source end, whether written without a space before it


def punctuate(written: list[Out]) -> None:
    """Drop punctuation without words: leading commas, doubled commas, a colon after a colon."""
    index = 0
    while index < len(written):
        text = written[index][0]
        before = written[index - 1][0] if index else ""
        if (
            (text in ",;" and (not before or before[-1] in ",;:" or before in ("Also", "-")))
            or (text == ":" and (not before or before[-1] in ":;,"))
            or (text == "." and before.endswith("."))
        ):
            del written[index]
        elif text in ".;," and before in _HANGING:
            del written[index - 1]
            index -= 1
        else:
            index += 1
    while written and written[-1][0] in _HANGING | {"but"}:
        written.pop()


def _make_singular(words: list[Token], index: int) -> None:
    """Put the verb of "they", which is not written, in the singular: "describes", as for the patient."""
    while index < len(words) and words[index].key in _ADVERBS:
        index += 1
    if index < len(words) and words[index].key in _PLURAL_VERBS:
        ending = "es" if words[index].key.endswith(("ss", "sh", "ch", "go")) else "s"
        words[index].text += ending
        words[index].key += ending


class ShorthandSentence:
    """A sentence being rewritten in shorthand."""

    def __init__(self, rng: random.Random, known: dict[int, str | None]) -> None:
        self.random, self.known = rng.random, known
        self.out: list[Out] = []

    def write(self, words: list[Token]) -> list[Out]:
        """Return the words in shorthand."""
        index = 0
        while index < len(words):
            plain = words[index].key in SIDES and not is_side(words, index)
            step = (0 if plain else self._phrase(words, index)) or self._word(words, index)
            index += step
        return self.out

    def _phrase(self, words: list[Token], index: int) -> int:
        """Replace the longest known phrase that starts here; return its number of words, 0 if there is none."""
        node, length, shown = tables().tree, 0, ""
        read, filled = {"#": "", "@": ""}, {"#": "", "@": ""}
        for offset, word in enumerate(words[index : index + 10], 1):
            following = node.get(word.key)
            if following is None and (word.key in NUMBERS or word.key[0].isdigit()):
                following, read["#"] = node.get("#"), NUMBERS.get(word.key, word.text)
            elif following is None and word.key in UNITS and (read["#"] or not word.key.endswith("s")):
                following, read["@"] = node.get("@"), UNITS[word.key]
            if following is None:
                break
            node = following
            form = self._form(node[None]) if None in node else None
            if form is not None:
                length, shown, filled = offset, form, dict(read)
        if not length:
            return 0
        start, end = words[index].start, words[index + length - 1].end
        if "#" in shown or "@" in shown:
            shown = shown.replace("#", filled["#"]).replace("@", filled["@"])
            if not self.out and shown.startswith("x "):
                shown = f"Past {shown[2:]}"
        if shown:
            glued = bool(self.out) and (shown[0] in _NO_SPACE_BEFORE or self.out[-1][0] in _JOINED)
            if shown.lower() == "denies" and self.out and self.out[-1][0].lower() in _REPORTED:
                shown = "no"
            if self.out and self.out[-1][0] not in (".", ":") and shown.split(" ")[0] in _CAPITALISED:
                shown = shown[0].lower() + shown[1:]
            self.out.append((shown, start, end, glued))
        return length

    def _form(self, entry: tuple[tuple[str, ...], float]) -> str | None:
        """Return the form of a term: drawn once per note, so that a note abbreviates a term consistently."""
        identity = id(entry)
        if identity not in self.known:
            forms, chance = entry
            self.known[identity] = forms[int(self.random() * len(forms))] if self.random() < chance else None
        return self.known[identity]

    def _word(self, words: list[Token], index: int) -> int:
        word = words[index]
        key, text = word.key, word.text
        before = self.out[-1][0] if self.out else ""
        if key in _DROP or (key in _DROP_VERBS and before.lower() not in _KEEP_VERB and self.random() < 0.93):
            return 1
        if key in ("patient", "they"):
            if key == "they":
                _make_singular(words, index + 1)
            kept = key == "patient" and self.random() >= (0.55 if not self.out else 0.4 if before in _JOINTS else 0)
            if not kept and before.lower() not in _KEEP_VERB:
                return 1
            text = "Pt" if not self.out else "pt"
        elif key == "patient's":
            text = "Pt's"
        elif key in NUMBERS:
            text = NUMBERS[key]
        elif key in ("and", "or") and self.out:
            return self._conjunction(words, index, before)
        elif key == "," and index + 1 < len(words) and words[index + 1].key in ("and", "or") and self.random() < 0.75:
            return 1
        glued = bool(self.out) and (text[0] in _NO_SPACE_BEFORE or before in _JOINED or text.startswith("°"))
        self.out.append((text, word.start, word.end, glued))
        return 1

    def _and(self) -> str:
        return self._form(_AND) or "and"

    def _conjunction(self, words: list[Token], index: int, before: str) -> int:
        """Write a slash or comma between short items, a semicolon between clauses."""
        word, draw = words[index], self.random()
        clause = index + 1 < len(words) and words[index + 1].key in _CLAUSE_OPENERS
        item = next((n for n, token in enumerate(words[index + 1 : index + 5]) if token.key in _ITEM_ENDS), 4)
        if clause:
            shown, glued = (";", True) if draw < 0.6 and before not in (",", ";") else (self._and(), False)
        elif before in (",", ";") or item > 3 or draw > 0.55:
            shown, glued = (self._and() if word.key == "and" else "or"), False
        else:
            shown, glued = ("/" if draw < 0.45 else ","), True
        self.out.append((shown, word.start, word.end, glued))
        return 1
