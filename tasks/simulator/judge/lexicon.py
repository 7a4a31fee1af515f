"""Load the judge's word lists (lexicon.yaml)."""

import re
from dataclasses import dataclass
from importlib.resources import files

import yaml
from nltk.stem.snowball import EnglishStemmer

from tasks.domains.in_use import domain_cache

_TENS = {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90"}


@domain_cache(maxsize=1)
def _stemmer() -> EnglishStemmer:
    return EnglishStemmer()


@domain_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the Snowball stem (Porter 2001)."""
    return str(_stemmer().stem(word))


@dataclass(frozen=True)
class Scale:
    """Classes of words on a scale: patterns for claims, and wider ones for texts, which may paraphrase."""

    claimed: tuple[re.Pattern[str], ...]
    given: tuple[re.Pattern[str], ...]
    required: frozenset[int]  # classes that the text has to give if the claim has them


@dataclass(frozen=True)
class Lexicon:
    """Words by class. ``report``, ``light``, ``body``, ``drugs``, ``persons``, ``units``, ``degrees``: stems."""

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
    raw = yaml.safe_load(files(__package__).joinpath("lexicon.yaml").read_text(encoding="utf-8"))
    same = {phrase: word for word, phrases in raw["same"].items() for phrase in phrases}
    longest_first = sorted(same, key=lambda phrase: (-len(phrase), phrase))
    pattern = re.compile(r"(?<![\w-])(?:" + "|".join(re.escape(phrase) for phrase in longest_first) + r")(?![\w-])")

    def stems(key: str) -> frozenset[str]:
        return frozenset(stem(same.get(word, word)) for word in raw[key].split())

    return Lexicon(
        function=frozenset(raw["function_words"].split()),
        report=stems("report_words"),
        light=stems("light_words"),
        negators=frozenset(raw["negators"].split()),
        backward=frozenset(raw["backward_negators"].split()),
        suppositions=frozenset(raw["suppositions"]),
        not_seen=frozenset(raw["not_seen"].split()),
        clause_words=frozenset(raw["clause_words"].split()),
        clause_starts=frozenset(raw["clause_starts"].split()),
        resolved_by=frozenset(raw["resolved_by"].split()),
        finite_verbs=frozenset(raw["finite_verbs"].split()),
        normal_states=frozenset(raw["normal_states"].split()),
        unstemmed=frozenset(raw["unstemmed"].split()),
        tissues=stems("tissues"),
        places=frozenset(raw["places"].split()),
        numbers={word: str(value) for value, word in enumerate(raw["number_words"].split())} | _TENS,
        body=stems("body"),
        drugs=stems("drugs"),
        drug_endings=tuple(raw["drug_endings"]),
        sides={word: side for side, words in raw["sides"].items() for word in words},
        opposites=_opposites(raw["opposites"], same),
        persons=stems("persons"),
        units=stems("units"),
        degrees=stems("degrees"),
        same=same,
        phrases=pattern,
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
