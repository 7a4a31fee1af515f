"""Similarity of clinical phrases: weighted overlap of words, with abbreviations expanded."""

import re
from collections import Counter
from collections.abc import Iterator

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical.abbreviations import expansion
from tasks.simulator.clinical.findings import find
from tasks.simulator.clinical.resources import load
from tasks.simulator.clinical.vocabulary import reading

_WORD = re.compile(r"w/o?|[A-Za-z]/[A-Za-z]{1,2}\b|[A-Za-z]+(?:'[a-z]+)?|\d+(?:[.,]\d+)?|[↑↓+&∅Ø%]")
_ENDINGS = (
    "ations",
    "ation",
    "iness",
    "ness",
    "ings",
    "ing",
    "ions",
    "ion",
    "ies",
    "ied",
    "ness",
    "ally",
    "ily",
    "ly",
    "ed",
    "es",
    "al",
    "s",
    "y",
    "e",
)


@domain_cache(maxsize=1)
def _classes() -> dict[str, str]:
    lines = [*load("synonyms")["classes"], *reading().synonyms]
    return {stem(word): line.split()[0] for line in lines for word in line.split()}


@domain_cache(maxsize=1)
def _light() -> frozenset[str]:
    return frozenset(load("synonyms")["light"].split())


@domain_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return a rough stem of a lower-case word, to match inflected forms."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def words(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield (start, end, forms) of each word; an abbreviation has the forms of its expansion."""
    for match in _WORD.finditer(text):
        long = expansion(match.group())
        parts = (long or match.group()).lower().replace("-", " ").split()
        yield match.start(), match.end(), tuple(_classes().get(stem(p), stem(p)) for p in parts)


def weight(form: str) -> float:
    """Return the weight of a form: low for function words and reporting verbs."""
    return 0.15 if form in _light() or stem(form) in _light() else 1.0


@domain_cache(maxsize=2048)
def bag(text: str) -> Counter[str]:
    """Count the forms of ``text``, and ``@concept`` once for each clinical concept mentioned."""
    forms: Counter[str] = Counter(form for _, _, parts in words(text) for form in parts)
    forms.update({f"@{f.concept}" for f in find(text)})
    return forms


def similarity(a: str, b: str) -> float:
    """Return the weighted Dice coefficient of two texts, 0 to 1."""
    ours, theirs = bag(a), bag(b)
    total = sum(weight(f) * n for f, n in ours.items()) + sum(weight(f) * n for f, n in theirs.items())
    return 2 * sum(weight(f) * n for f, n in (ours & theirs).items()) / total if total else 0.0
