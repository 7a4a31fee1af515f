"""The words by which symptoms, conditions, diagnoses and complaints are found.

Symptoms and how they are read come from the domain (``lexicon/*.yaml``), everything else from ``data/concepts.yaml``. A
pattern is a sequence of words. ``a|b`` are alternatives, ``[a|b]`` is optional, ``~`` matches up to three words,
``stem*`` any word with that prefix. A word in capitals is case-sensitive.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, NamedTuple
from zlib import crc32

from pydantic import BeforeValidator, Field, TypeAdapter

from schemas.params.base import Section
from tasks.domains.in_use import domain_cache, domain_data
from tasks.domains.rules import load_rules
from tasks.simulator.reader.words import Token, stems
from tasks.simulator.resources import load

HELD_OUT, SEED = 10, 3
"""One of so many wordings and sentences escapes the reader; the seed says which."""
_GAP = 3
_NO_GAP = frozenset([".", ",", ";", "or", "nor", "no", "not", "denies", "denied", "without", "but", "w/o"])
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]


class Reading(Section):
    """How the rules read the symptoms of a domain. Symptoms are given by label; the file explains each key."""

    temperature: str | None = None
    shared: list[str] = Field(default_factory=list)
    replaces: list[str] = Field(default_factory=list)
    level_words: dict[str, str] = Field(default_factory=dict)
    known_by: dict[str, str] = Field(default_factory=dict)
    anaphors: dict[str, list[str]] = Field(default_factory=dict)
    normal_by_last_word: list[str] = Field(default_factory=list)
    abnormal_signs: list[str] = Field(default_factory=list)
    signs_state: list[str] = Field(default_factory=list)
    treated_alike: list[str] = Field(default_factory=list)
    opposites: list[Pair] = Field(default_factory=list)
    elsewhere: str
    checks: dict[str, str] = Field(default_factory=dict)
    needed: dict[str, list[str]] = Field(default_factory=dict)


@domain_cache(maxsize=1)
def reading() -> Reading:
    """How the symptoms of the domain in use are read."""
    return Reading.model_validate(domain_data("lexicon/reading"))


def symptoms() -> tuple[str, ...]:
    """Labels of the domain's symptoms, in the order of its wording."""
    return tuple(load_rules().symptom_labels.values())


def level_pattern(level: str) -> re.Pattern[str]:
    """The wordings of a level of the temperature symptom; a pattern that never matches for a level without any."""
    return re.compile(reading().level_words.get(level, r"(?!)"), re.IGNORECASE)


_SPLIT = BeforeValidator(lambda listed: listed.split(", ") if isinstance(listed, str) else listed)


class Item(Section):
    """Terms of one concept and kind of wording in a file of the lexicon, as a list or separated by commas."""

    concept: str
    category: Literal["symptom", "other_symptom", "sign", "condition", "diagnosis", "drug", "none"]
    kind: Literal["direct", "lay", "implicit", "calm", "feature", "exam", "anaphor", "weak", "blocker"]
    terms: Annotated[list[str], Field(min_length=1), _SPLIT]


_ITEMS = TypeAdapter(tuple[Item, ...])


class _Slot(NamedTuple):
    words: frozenset[str]
    capitals: frozenset[str]
    prefixes: tuple[str, ...]
    optional: bool
    gap: bool

    def fits(self, token: Token) -> bool:
        known = token.low in self.words or token.full in self.words or token.text in self.capitals
        return known or token.low.startswith(self.prefixes)


def _slot(part: str) -> _Slot:
    options = [] if part == "~" else part.strip("[]").split("|")
    capitals = frozenset(one for one in options if one.isupper())
    prefixes = tuple(one[:-1].lower() for one in options if one.endswith("*") and len(one) > 1)
    words = frozenset(one.lower() for one in options if one not in capitals and not one.endswith("*"))
    return _Slot(words, capitals, prefixes, part == "~" or part.startswith("["), part == "~")


@domain_cache(maxsize=1)
def _patterns() -> dict[str, list[tuple[tuple[_Slot, ...], Item]]]:
    """The compiled lexicon: patterns by the words with which they may begin, or by ``ab*`` for a beginning of words.

    Raises ValueError for a pattern that does not begin with a word or has no required one.
    """
    begun: dict[str, list[tuple[tuple[_Slot, ...], Item]]] = defaultdict(list)
    for item in _items():
        for pattern in item.terms:
            slots = tuple(map(_slot, pattern.split()))
            required = next((at for at, slot in enumerate(slots) if not slot.optional), None)
            if required is None or slots[0].gap:
                raise ValueError(f"lexicon pattern {pattern!r} must start with a word and have a required word")
            first = slots[: required + 1]
            words = {word.lower() for slot in first for word in (*slot.words, *slot.capitals)}
            for key in words | {f"{one[:2]}*" for slot in first for one in slot.prefixes}:
                begun[key].append((slots, item))
    return begun


def matches(tokens: Sequence[Token]) -> Iterator[tuple[int, int, Item]]:
    """Yield (first token, one past the last, item) of the longest match of each pattern at each token."""
    begun = _patterns()
    for start, token in enumerate(tokens):
        for key in {token.low, token.full, f"{token.low[:2]}*"}:
            for slots, item in begun.get(key, ()):
                if end := _longest(tokens, start, slots, 0):
                    yield start, end, item


def _longest(tokens: Sequence[Token], at: int, slots: tuple[_Slot, ...], position: int) -> int:
    """The end of the longest match of the remaining slots; 0 without one."""
    if position == len(slots):
        return at
    slot = slots[position]
    if slot.gap:
        best = 0
        for skipped in range(_GAP + 1):
            best = max(best, _longest(tokens, at + skipped, slots, position + 1))
            if at + skipped >= len(tokens) or tokens[at + skipped].low in _NO_GAP:
                break
        return best
    taken = _longest(tokens, at + 1, slots, position + 1) if at < len(tokens) and slot.fits(tokens[at]) else 0
    return taken or (_longest(tokens, at, slots, position + 1) if slot.optional else 0)


def is_held_out(wording: str) -> bool:
    """Whether a wording or a sentence is of the tenth that escapes the reader; single words are all known."""
    words = wording.lower().split()
    return len(words) > 1 and crc32(f"{SEED} {' '.join(words)}".encode()) % HELD_OUT == 0


@domain_cache(maxsize=1)
def symptom_items() -> tuple[Item, ...]:
    """Entries of ``lexicon/symptoms``. Raises ValidationError for one that is no `Item`."""
    return _ITEMS.validate_python(domain_data("lexicon/symptoms"))


@domain_cache(maxsize=1)
def concepts() -> dict[str, str]:
    """The names of all concepts by their lower-case form."""
    return {item.concept.lower(): item.concept for item in _items() if item.kind != "blocker"}


def _items() -> Iterator[Item]:
    yield from symptom_items()
    for name in reading().shared:
        yield from shared_items(name)
    replaced = {*reading().replaces, *(symptom.lower() for symptom in symptoms())}
    yield from (item for item in shared_items("concepts") if item.concept.lower() not in replaced)


def shared_items(name: str) -> tuple[Item, ...]:
    """Entries of a file of ``data``."""
    return _ITEMS.validate_python(load("reader", name))


@domain_cache(maxsize=1)
def _descriptors() -> dict[str, re.Pattern[str]]:
    listed = domain_data("lexicon/descriptors").items()
    return {str(name): re.compile(str(pattern), re.IGNORECASE) for name, pattern in listed}


def described(text: str, *, by_name: bool) -> list[tuple[str, tuple[int, int]]]:
    """Descriptors in ``text`` with their places: by any of their wordings, or ``by_name``."""
    low = text.lower()
    if by_name:
        named = [(name, low.find(name)) for name in _descriptors()]
        return [(name, (at, at + len(name))) for name, at in named if at >= 0]
    matches = ((name, pattern.search(text)) for name, pattern in _descriptors().items())
    return [(name, match.span()) for name, match in matches if match]


def says(text: str, descriptor: str) -> bool:
    """Whether ``text`` states a descriptor: by its known wordings, else by half of its content words."""
    pattern, wanted = _descriptors().get(descriptor.strip().lower()), stems(descriptor)
    if pattern is not None:
        return pattern.search(text) is not None
    return len(wanted & stems(text)) >= len(wanted) / 2
