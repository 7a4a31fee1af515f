"""Corrupts phrases the way models do when they copy from a note; seeded. For tests of span matching."""

import re
from collections.abc import Callable

import numpy as np

_MARKS = re.compile(r"(?<=\w)(?:[,;:!?]|\.(?!\d)|(?<!\d)\.)(?=\s+\w)")
_QUOTES = {"'": "’", '"': "”", "’": "'", "“": '"', "”": '"'}
_DASHES = "‐‑–—-"


def change_case(phrase: str, draw: np.random.Generator) -> str:
    """Upper, lower or title case, swapped case, or the first letter turned."""
    turned = phrase[:1].swapcase() + phrase[1:]
    return str(draw.choice([phrase.upper(), phrase.lower(), phrase.title(), phrase.swapcase(), turned]))


def change_punctuation(phrase: str, draw: np.random.Generator) -> str:
    """Marks inside the phrase dropped or exchanged, or one added after a word."""
    kind = draw.integers(3)
    if kind == 0:
        return _MARKS.sub("", phrase)
    if kind == 1:
        return _MARKS.sub(lambda _: str(draw.choice([",", ";", ".", " -", ":"])), phrase)
    words = phrase.split(" ")
    if len(words) > 2:
        words[int(draw.integers(1, len(words) - 1))] += str(draw.choice([",", ";", " -"]))
    return " ".join(words)


def change_quotes_and_dashes(phrase: str, draw: np.random.Generator) -> str:
    """Other quotes and dashes for those in the phrase; hyphens lost; the whole in quotes."""
    kind = draw.integers(3)
    if kind == 0:
        return re.sub(r"(?<=[a-z])-(?=[a-z])", "", phrase)
    dashed = re.sub(r"-", str(draw.choice(list(_DASHES))), phrase)
    swapped = "".join(_QUOTES.get(c, c) for c in dashed)
    return f"“{swapped}”" if kind == 1 else swapped


def change_space(phrase: str, draw: np.random.Generator) -> str:
    """Other white space between words, and around the phrase."""
    spaces = ["  ", "\n", "\t", "\u00a0", " \n ", "\u2009"]
    inner = re.sub(r" ", lambda _: str(draw.choice(spaces)) if draw.random() < 0.5 else " ", phrase)
    return f" {inner}\n" if draw.random() < 0.5 else inner


def elide(phrase: str, draw: np.random.Generator) -> str:
    """A stretch of one to all but four words replaced by ``...``; phrases of fewer than five words stay."""
    words = phrase.split(" ")
    if len(words) < 5:
        return phrase
    first = int(draw.integers(2, len(words) - 2))
    last = int(draw.integers(first + 1, len(words) - 1))
    mark = str(draw.choice(["...", " ...", " ... ", "…", " [...] "]))
    return " ".join(words[:first]) + (mark if mark.startswith(" ") else mark + " ") + " ".join(words[last:]).lstrip()


def inflect(phrase: str, draw: np.random.Generator) -> str:
    """One word of four letters or more with another ending."""
    words = phrase.split(" ")
    long = [i for i, word in enumerate(words) if word.isalpha() and len(word) > 3]
    if not long:
        return phrase + "s"
    chosen = int(draw.choice(long))
    word = words[chosen]
    words[chosen] = word[:-1] if word.endswith("s") else word + str(draw.choice(["s", "ing", "ed"]))
    return " ".join(words)


LIGHT: dict[str, Callable[[str, np.random.Generator], str]] = {
    "case": change_case,
    "punctuation": change_punctuation,
    "quotes": change_quotes_and_dashes,
    "space": change_space,
}
"""Corruptions that leave every word as it is."""


def corrupt_lightly(phrase: str, draw: np.random.Generator) -> str:
    """Two of the light corruptions, one after the other."""
    for name in draw.permutation(list(LIGHT))[:2]:
        phrase = LIGHT[str(name)](phrase, draw)
    return phrase
