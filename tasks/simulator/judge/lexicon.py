"""The judge's word lists (``data/lexicon.yaml``), and one form for shorthand and spellings: "x4d", "2/52", "oedema"."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from nltk.stem.snowball import EnglishStemmer

from tasks.domains.in_use import domain_cache
from tasks.simulator.resources import load

_STEMMER = EnglishStemmer()


@domain_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the Snowball stem (Porter 2001)."""
    return str(_STEMMER.stem(word))


@dataclass(frozen=True)
class Scale:
    """Classes of words on a scale: patterns for claims, and wider ones for texts, which may paraphrase."""

    claimed: tuple[re.Pattern[str], ...]
    given: tuple[re.Pattern[str], ...]
    required: frozenset[int]  # classes that the text has to give if the claim has them


_STEMMED = ("report", "light", "tissues", "body", "drugs", "persons", "units", "degrees")


@dataclass(frozen=True)
class Lexicon:
    """Words by class; of the classes in ``_STEMMED`` the stems."""

    function: frozenset[str]
    report: frozenset[str]
    light: frozenset[str]
    negators: frozenset[str]
    backward: frozenset[str]  # negators that negate the preceding words
    suppositions: frozenset[str]  # words, or two words, that state what follows as possible only
    not_seen: frozenset[str]  # words that, after "not", negate the preceding words
    clause_words: frozenset[str]
    clause_starts: frozenset[str]
    resolved_by: frozenset[str]  # words after a "resolved" that describes a course and denies nothing
    finite_verbs: frozenset[str]
    normal_states: frozenset[str]
    unstemmed: frozenset[str]  # words whose stem is that of another word
    tissues: frozenset[str]  # body parts that occur all over the body
    places: frozenset[str]  # prepositions between a finding and its place
    numbers: dict[str, str]
    body: frozenset[str]
    drugs: frozenset[str]
    drug_endings: tuple[str, ...]
    sides: dict[str, str]
    opposites: dict[str, frozenset[str]]
    persons: frozenset[str]
    units: frozenset[str]
    degrees: frozenset[str]
    same: dict[str, str]  # phrase -> canonical word
    phrases: re.Pattern[str]
    scales: dict[str, Scale]


@domain_cache(maxsize=1)
def lexicon() -> Lexicon:
    """Return the lexicon, loaded once."""
    raw = load("judge", "lexicon")
    same = {phrase: word for word, phrases in raw["same"].items() for phrase in phrases}
    longest_first = sorted(same, key=lambda phrase: (-len(phrase), phrase))
    phrases = "|".join(re.escape(phrase) for phrase in longest_first)
    words = {name: listed.split() for name, listed in raw.items() if isinstance(listed, str)}
    stems = {name: frozenset(stem(same.get(word, word)) for word in words.pop(name)) for name in _STEMMED}
    return Lexicon(
        **stems,
        **{name: frozenset(listed) for name, listed in words.items()},
        suppositions=frozenset(raw["suppositions"]),
        numbers=raw["numbers"],
        drug_endings=tuple(raw["drug_endings"]),
        sides={word: side for side, listed in raw["sides"].items() for word in listed},
        opposites=_opposites(raw["opposites"], same),
        same=same,
        phrases=re.compile(rf"(?<![\w-])(?:{phrases})(?![\w-])"),
        scales={name: _scale(**scale) for name, scale in raw["scales"].items()},
    )


def _opposites(groups: list[list[str]], same: dict[str, str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for first, second in groups:
        one, other = stem(same.get(first, first)), stem(same.get(second, second))
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others - {word}) for word, others in found.items()}


def _scale(classes: list[dict[str, str]], required: list[int]) -> Scale:
    claimed = tuple(re.compile(rf"\b(?:{one['claim']})\b") for one in classes)
    given = tuple(re.compile(rf"\b(?:{one['claim']}|{one['text']})\b") for one in classes)
    return Scale(claimed, given, frozenset(required))


@dataclass(frozen=True)
class Rule:
    """A rule of ``data/spellings.yaml``, which explains the fields."""

    find: re.Pattern[str]
    put: str
    words: Mapping[str, str]

    def apply(self, text: str) -> str:
        """Return ``text`` with all that the rule finds replaced."""
        return self.find.sub(lambda match: _SLOT.sub(lambda slot: self._content(match, slot), self.put), text)

    def _content(self, match: re.Match[str], slot: re.Match[str]) -> str:
        found = next((match[int(group)] for group in slot[1].split("|") if match[int(group)]), "")
        return self.words.get(found, found)


_SLOT = re.compile(r"\{([\d|]+)\}")


@domain_cache(maxsize=8)
def _rules(name: str) -> tuple[Rule, ...]:
    listed = load("judge", "spellings")[name]
    return tuple(Rule(re.compile(rule["find"]), rule["put"], rule.get("words", {})) for rule in listed)


def rewritten(text: str, rules: str) -> str:
    """Return ``text`` after the rules of one list: ``shorthand``, ``spellings`` or ``figures``."""
    for rule in _rules(rules):
        text = rule.apply(text)
    return text
