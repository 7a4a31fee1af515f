"""Similarity of clinical phrases by weighted overlap of words, with abbreviations expanded.

Descriptors of symptoms are recognised in their various wordings: "when climbing stairs" states "during exercise".
"""

import re
from collections import Counter
from collections.abc import Iterator

from tasks.domains.in_use import domain_cache, domain_data
from tasks.simulator.clinical.findings import find
from tasks.simulator.clinical.lexicon import reading
from tasks.simulator.clinical.words import expansion, stem, word_list
from tasks.simulator.resources import load

_WORD = re.compile(r"w/o?|[A-Za-z]/[A-Za-z]{1,2}\b|[A-Za-z]+(?:'[a-z]+)?|\d+(?:[.,]\d+)?|[↑↓+&∅Ø%]")


@domain_cache(maxsize=1)
def _classes() -> dict[str, str]:
    lines = [*load("clinical", "words")["classes"], *reading().synonyms]
    return {stem(word): line.split()[0] for line in lines for word in line.split()}


_LIGHT = word_list("light")


def words(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield (start, end, forms) of each word; an abbreviation has the forms of its expansion."""
    for match in _WORD.finditer(text):
        long = expansion(match.group())
        parts = (long or match.group()).lower().replace("-", " ").split()
        yield match.start(), match.end(), tuple(_classes().get(stem(p), stem(p)) for p in parts)


def weight(form: str) -> float:
    """Return the weight of a form: low for function words and reporting verbs."""
    return 0.15 if form in _LIGHT or stem(form) in _LIGHT else 1.0


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


SEVERITY = ("light", "mild", "severe")


@domain_cache(maxsize=1)
def known() -> dict[str, re.Pattern[str]]:
    """Patterns of the wordings of each descriptor."""
    return {
        str(name): re.compile(str(pattern), re.IGNORECASE)
        for name, pattern in domain_data("lexicon/descriptors").items()
    }


def says(text: str, descriptor: str) -> bool:
    """Whether ``text`` states ``descriptor``; for an unknown descriptor half of its content words must occur."""
    pattern = known().get(descriptor.strip().lower())
    if pattern is not None:
        return pattern.search(text) is not None
    wanted = {form for form in bag(descriptor) if weight(form) == 1.0 and not form.startswith("@")}
    return not wanted or len(wanted & set(bag(text))) >= 0.5 * len(wanted)
