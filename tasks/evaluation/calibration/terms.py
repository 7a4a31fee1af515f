"""The terms of terms.yaml: drugs and body parts that are exchanged, inside or outside the judge's lexicon."""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import yaml

from tasks.simulator.judge.lexicon import lexicon, stem

_AFTER = "is are was were with on for and or during after when since by in at to once twice daily has but"
_NO_NOUN = rf"(?! (?!(?:{_AFTER.replace(' ', '|')})\b)\w)"
"""The term is not part of a compound such as "eye drops"."""


@dataclass(frozen=True)
class Terms:
    """Groups of exchangeable terms; each term is a tuple of synonyms, the first of which is written."""

    groups: tuple[tuple[tuple[str, ...], ...], ...]
    plurals: dict[str, str]
    known: frozenset[str]  # stems in the judge's lexicon
    endings: tuple[str, ...] = ()  # endings that the judge recognises

    def plural(self, term: str) -> str:
        """The plural of a term."""
        return self.plurals.get(term, f"{term}s")

    def inside(self, term: str) -> bool:
        """Whether the judge's lexicon contains the term or recognises its ending."""
        return any(stem(lexicon().same.get(word, word)) in self.known for word in term.split()) or term.endswith(
            self.endings or ("\0",)
        )


@lru_cache(maxsize=1)
def drug() -> Terms:
    """Drugs by class."""
    return Terms(_groups("drugs"), {}, lexicon().drugs, lexicon().drug_endings)


@lru_cache(maxsize=1)
def drug_classes() -> tuple[str, ...]:
    """The class of each group of drugs with its article, in the order of the groups of `drug`."""
    named: dict[str, str] = _read()["classes"]
    return tuple(named[group] for group in _read()["drugs"])


@lru_cache(maxsize=1)
def plausible_claims() -> tuple[str, ...]:
    """Claims that could be in any clinical note."""
    return tuple(_read()["plausible"])


@lru_cache(maxsize=1)
def body_part() -> Terms:
    """Body parts by region."""
    return Terms(_groups("body_parts"), dict(_read()["plurals"]), lexicon().body)


@lru_cache(maxsize=1)
def _read() -> dict[str, Any]:
    raw: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("terms.yaml").read_text(encoding="utf-8"))
    return raw


def _groups(key: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(tuple(tuple(term.split("/")) for term in group) for group in _read()[key].values())


def change_term(claim: str, terms: Terms, random: np.random.Generator, *, outside: bool) -> str | None:
    """``claim`` with its first term exchanged for another of the group, outside or inside the judge's lexicon.

    The new term does not occur in the claim. None if the claim has no term, or the group no other such term.
    """
    for group in terms.groups:
        for term in group:
            for name in term:
                match = re.search(
                    rf"\b(?:{re.escape(name)}|({re.escape(terms.plural(name))}))\b{_NO_NOUN}", claim, re.IGNORECASE
                )
                if match is None:
                    continue
                others = [other[0] for other in group if other is not term and other[0] not in claim.lower()]
                others = [other for other in others if terms.inside(other) is not outside]
                if not others:
                    return None
                other = others[int(random.integers(len(others)))]
                return _replaced(claim, match, terms.plural(other) if match[1] else other)
    return None


def _replaced(claim: str, match: re.Match[str], other: str) -> str:
    """``claim`` with the match replaced, in its case, and the article before it adapted."""
    written = other.capitalize() if match.group()[0].isupper() else other
    before = claim[: match.start()]
    article = "an" if other[0] in "aeiou" else "a"
    before = re.sub(r"\b(an?) $", f"{article} ", before)
    return before + written + claim[match.end() :]
