"""Words of a sentence and its clauses: which verbs are the patient's, and where a new clause begins."""

import re
from dataclasses import dataclass

from tasks.simulator.resources import load

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


def listed(name: str) -> frozenset[str]:
    """Return a list of words of ``telegraphic.yaml``."""
    return frozenset(load("writer", "telegraphic")[name].split())


ADVERBS, DROP_VERBS, FRONTED = listed("adverbs"), listed("drop_verbs"), listed("fronted")
_PLURAL_VERBS, _PAST, _OF_THINGS = listed("plural_verbs"), listed("past"), listed("of_things")
_OPENERS = listed("openers")
_SINGULAR = {"have": "has", "are": "is", "were": "was", "do": "does"}
_NOUNS = frozenset(["exercise", "rest", "sleep", "walk"])
"""Plural verbs that are nouns after "and"."""
_FINDS = frozenset(["shows", "showed", "reveals", "revealed", "demonstrates", "demonstrated"])
"""Verbs of an examination, whose shorter form is a heading."""
_WITH = frozenset(["with", "without"])
STOPS = frozenset(".;:")
SUBJECT_ENDS = STOPS | {",", "but", "which", "that"}
_NEW_PART = DROP_VERBS | {"the", "there", "patient", "no"}


def _singular(verb: str) -> str:
    if verb in _SINGULAR or verb not in _PLURAL_VERBS:
        return _SINGULAR.get(verb, verb)
    if verb.endswith("y") and verb[-2] not in "aeo":
        return f"{verb[:-1]}ies"
    return verb + ("es" if verb.endswith(("ss", "sh", "ch", "go")) else "s")


_FINITE = listed("finite") | {_singular(verb) for verb in _PLURAL_VERBS} - {
    "drinks",
    "rates",
    "rests",
    "walks",
    "calls",
}
"""Singular verbs too, except those that are common plurals of nouns."""


def patient_for_they(words: list[Token]) -> None:
    """Replace "they", if it is the patient, by "patient"; its verbs become singular: "works ... and reports"."""
    replaced, before = False, ""
    for index, word in enumerate(words):
        following = next((one.key for one in words[index + 1 :] if one.key not in ADVERBS), "")
        patient = following in _PAST or following.endswith("ed") or _singular(following) != following
        if word.key == "they" and patient and following not in _OF_THINGS:
            word.key, replaced = "patient", before != "since"
        elif word.key in ("patient", "it", "there", ";"):
            replaced = False
        elif replaced and before in ("patient", "and", "or", "but"):
            noun = before != "patient" and (word.key in _NOUNS or following in _FINITE)
            if not noun:
                word.text = word.key = _singular(word.key)
        if word.key not in ADVERBS:
            before = word.key


def until(words: list[Token], ends: frozenset[str]) -> list[str]:
    """Keys of the words before the first of ``ends``."""
    end = next((n for n, word in enumerate(words) if word.key in ends), len(words))
    return [word.key for word in words[:end]]


def opens_clause(words: list[Token], index: int, start: int) -> bool:
    """Whether a clause with its own subject follows the conjunction at ``index``: "and the throat is red".

    ``start``: that of the clause before it, which has a verb too.
    """
    after = words[index + 1 :]
    if not after or after[0].key in _OPENERS:
        return bool(after)
    own = until(after, SUBJECT_ENDS)
    main = until(after[len(own) + 1 :], SUBJECT_ENDS)
    if own and own[0] in FRONTED and main and (main[0] in _NEW_PART or not _FINITE.isdisjoint(main[1:9])):
        return True
    if own and own[-1] == "on" and main[:1] == ["side"]:  # "and lying on that side is painful"
        own += main
    ends = (n for n, key in enumerate(own[:-1]) if key == "and" and own[n + 1] in _NEW_PART)
    own = own[: next(ends, 12)]
    before = until(words[start:index][::-1], STOPS)
    if before[:1] == [","] and own[:1] and own[0] not in _NEW_PART and "," in before[2:4] and before[2] not in _WITH:
        return False  # the last of several subjects: "exertion, dust, and hurrying"
    if not own or own[0] in _FINITE or "within" in own:
        return False
    first = own[: own.index("and")] if "and" in own else own
    return not _FINDS.isdisjoint(first) or (_has_verb(own[1:]) and _has_verb(before))


def _has_verb(keys: list[str]) -> bool:
    return not _FINITE.isdisjoint(keys)
