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
from tasks.simulator.writer.clauses import (
    ADVERBS,
    DROP_VERBS,
    FRONTED,
    STOPS,
    SUBJECT_ENDS,
    Token,
    listed,
    opens_clause,
    patient_for_they,
    tokens,
    until,
)
from tasks.simulator.writer.rules import writer_rates

_SYNTAX = load("writer", "telegraphic")
NUMBERS = {word: str(value) for value, word in enumerate(_SYNTAX["numbers"].split())}
UNITS = _SYNTAX["units"]
SIDES = frozenset(["left", "right"])
_BEFORE_SIDES = frozenset(["the", "on", "than"])


@dataclass(frozen=True)
class Tables:
    """``tree``: nested dicts of keys; under None (shorter forms, probability of use in a note)."""

    tree: dict[Any, Any]
    symptom_words: frozenset[str]


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


_NO_SPACE_BEFORE = frozenset(",.;:)%?!/°")
_JOINED = frozenset("/(~")
_CAPITALISED, _REPORTED = frozenset(_SYNTAX["capitalised"]), frozenset(_SYNTAX["reported"])
_DROP, _SIDED = listed("drop"), listed("sided")
_PARTICIPLES, _IRREGULAR = listed("participles"), listed("irregular")
_BEFORE_AMOUNT, _RATED = listed("before_amount"), listed("rated")
_KEEP_VERB = frozenset(["it", "when", "who", "that", "what", "there", "where", "how", "if", "which"])
"""Words after which a verb is not omitted: "when it is worst", "anyone who is ill"."""
_JOINTS = frozenset([",", ";", "and"])
_HANGING = frozenset([",", ";", ":", "&", "or", "and", "w/", "with"])  # not before a stop
_AND = (("and",) * 7 + ("&",), 1.0)  # spellings of "and"
_WITHOUT = frozenset(["with", "without"])
_OF = frozenset(["with", "w/", "on", "in", "of", "during", "when", "at", "to"])
"""Words of a longer phrase, whose last word alone is not joined by a slash: "pain on urination or fever"."""
_BETWEEN = ADVERBS | {"not", "always", "never", "long"}
"""Words between an auxiliary and its participle."""
_TIMES = frozenset([*UNITS, "night"])
_NO_SUBJECT = frozenset(["hx", "h/o", "no", "known", "2-pillow", "3-pillow"])
"""First words of shorter forms that replace the verb of the patient."""
_WORD = re.compile(r"[A-Za-z]+")
_DURATION = re.compile(r"[x×] ?~?\d")

Out = tuple[str, int, int, bool]  # text, source start, source end, whether written without a space before it


def punctuate(written: list[Out]) -> None:
    """Drop punctuation without words: leading commas, doubled commas, a colon after a colon."""
    index = 0
    while index < len(written):
        text = written[index][0]
        before = written[index - 1][0] if index else ""
        if (
            (text in ",;" and (not before or before[-1] in ",;:" or before in ("Also", "also", "-")))
            or (text == ":" and (not before or before[-1] in ":;,"))
            or (text == "." and before.endswith("."))
            or text.lower() == before.lower() == "also"
        ):
            del written[index]
        elif text in ".;," and before in _HANGING:
            del written[index - 1]
            index -= 1
        else:
            index += 1
    while written and written[-1][0] in _HANGING | {"but"}:
        written.pop()


class ShorthandSentence:
    """A sentence being rewritten in shorthand."""

    def __init__(self, rng: random.Random, known: dict[int, str | None]) -> None:
        self.random, self.known = rng.random, known
        self.out: list[Out] = []
        self.clause = 0  # index of the first word of the clause

    def write(self, words: list[Token]) -> list[Out]:
        """Return the words in shorthand."""
        patient_for_they(words)
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
            if not self.out and shown[0] in "x×":
                shown = f"Past {shown[1:].strip()}"
        if shown:
            if self.out and self.out[-1][0] == "," and (_DURATION.match(shown) or shown[0] in "→;,"):
                self.out.pop()  # the duration needs no comma
            if self.out and self.out[-1][0] in ("Pt", "pt") and shown.split()[0] in _NO_SUBJECT:
                self.out.pop()
            if shown.startswith("no ") and words[index].key in _WITHOUT and self._last_word():
                shown = f", {shown}"
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
        if (
            key in _DROP
            or (key == "that" and before.lower().removeprefix("also ") in _REPORTED)
            or (self._droppable(words, index) and (key == "been" or self.random() < 0.93))
        ):
            return 1
        if key == "patient":
            kept = self.random() >= (0.55 if not self.out else 0.4 if before in _JOINTS else 0)
            if not kept and before.lower() not in _KEEP_VERB:
                return 1
            text = "Pt" if not self.out else "pt"
        elif key in ("a", "an"):
            last = words[index - 1].key if index else "for"
            following = words[index + 1].key if index + 1 < len(words) else ""
            if following in _TIMES and any(one.key in _RATED for one in words[max(index - 3, 0) : index]):
                text = "/"
            elif last in _BEFORE_AMOUNT and following in UNITS:
                text = "1"
            else:
                return 1
        elif key == "patient's":
            text = "Pt's"
        elif key in NUMBERS and not (key == "one" and (index + 1 == len(words) or words[index + 1].key not in UNITS)):
            text = NUMBERS[key]
        elif key in ("and", "or") and self.out:
            return self._conjunction(words, index, before)
        elif key == "," and self._needless_comma(words, index):
            return 1
        glued = bool(self.out) and (text[0] in _NO_SPACE_BEFORE or before in _JOINED)
        self.out.append((text, word.start, word.end, glued))
        return 1

    def _and(self) -> str:
        return self._form(_AND) or "and"

    def _last_word(self) -> str:
        """The last written text if it is a word, neither punctuation nor a conjunction; else an empty text."""
        last = self.out[-1][0] if self.out else ""
        return last if last[-1:].isalnum() and last not in _HANGING | {"but"} else ""

    def _needless_comma(self, words: list[Token], index: int) -> bool:
        """Whether to omit the comma before a conjunction: always if a semicolon follows."""
        if index + 1 == len(words) or words[index + 1].key not in ("and", "or"):
            return False
        return opens_clause(words, index + 1, self.clause) or self.random() < 0.75

    def _droppable(self, words: list[Token], index: int) -> bool:
        """Whether the verb at ``index`` is omitted in most texts: not in "when it is", "has a cat", "has come back"."""
        key, before = words[index].key, self.out[-1][0].lower() if self.out else ""
        if key not in DROP_VERBS or before in _KEEP_VERB or (key == "have" and before == "to"):
            return False
        if key == "been":
            return not {"has", "have", "had"} & {one[0] for one in self.out[-3:]}
        rest = [one.key for one in words[index + 1 :]]
        following = next((one for one in rest if not (one in _BETWEEN or one.endswith("ly"))), ".")
        if key in ("has", "have"):
            if following.endswith("ed") or following in _PARTICIPLES:
                return rest[0] != "not" or not self._last_word()
            return following not in _IRREGULAR and not self._last_word()
        if rest[:1] in (["a"], ["an"]) and self._last_word() not in ("Pt", "pt", ""):
            return False  # "the pain is an ache"
        return following not in STOPS and following != "to" and not (key == "felt" and following in FRONTED)

    def _single(self, before: str, item: str) -> bool:
        """Whether the words on both sides of a conjunction are no parts of longer phrases."""
        lead = self.out[-2][0].lower() if len(self.out) > 1 else ""
        return lead not in _OF and all(map(_WORD.fullmatch, (before, item)))

    def _conjunction(self, words: list[Token], index: int, before: str) -> int:
        """Write a slash between two single words, a semicolon between clauses."""
        word, draw = words[index], self.random()
        if word.key == "and" and opens_clause(words, index, self.clause):
            self.clause = index + 1
            if before in (",", ";"):
                self.out.pop()
            shown, glued = ";", True
        else:
            shown, glued = self._and() if word.key == "and" and before != "," else word.key, False
            listed = any(one.key == "," for one in words[max(index - 4, 0) : index])
            item = until(words[index + 1 :], SUBJECT_ENDS)
            if before in (",", ";"):
                pass
            elif draw < 0.45 and len(item) == 1 and not listed and self._single(before, item[0]):
                shown, glued = "/", True
        self.out.append((shown, word.start, word.end, glued))
        return 1
