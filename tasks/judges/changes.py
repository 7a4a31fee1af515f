"""Changes a claim by script so that it is no longer true: negation, number, side, body part or drug.

A change that would not yield a possible sentence is not made. Terms and patterns come from the YAML files of this
package, which no judge reads; drugs and body parts are exchanged for common or uncommon others.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import yaml


@lru_cache(maxsize=4)
def words(file: str) -> dict[str, Any]:
    """The content of a YAML file of this package."""
    raw: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(f"{file}.yaml").read_text(encoding="utf-8"))
    return raw


@lru_cache(maxsize=64)
def pattern(file: str, name: str) -> re.Pattern[str]:
    """A pattern of a file of words; "%name%" stands for any of the words that the file lists under that name."""
    listed = words(file)
    return re.compile(re.sub(r"%(\w+)%", lambda found: "|".join(listed[found[1]]), listed["patterns"][name]))


def put(text: str, match: re.Match[str], other: str, group: str | int = 0) -> str:
    """The text with ``other`` in place of the match, or of a group of it."""
    return text[: match.start(group)] + other + text[match.end(group) :]


def leave_out(sentence: str, match: re.Match[str]) -> str:
    """The sentence without the match, with the article before it adapted."""
    before, after = sentence[: match.start()], sentence[match.end() :]
    before = re.sub(r"\b([Aa])n? $", lambda found: f"{found[1]}{'n' if after[0] in 'aeiou' else ''} ", before)
    return f"{before}{after}" if before else after[0].upper() + after[1:]


@dataclass(frozen=True)
class Terms:
    """Groups of exchangeable terms; each term is a tuple of synonyms, the first of which is written."""

    groups: tuple[tuple[tuple[str, ...], ...], ...]
    plurals: dict[str, str]
    uncommon: list[str]

    def plural(self, term: str) -> str:
        """The plural of a term."""
        return self.plurals.get(term, f"{term}s")


@lru_cache(maxsize=1)
def drug() -> Terms:
    """Drugs by class."""
    return Terms(_groups("drugs"), {}, words("terms")["uncommon"]["drugs"])


@lru_cache(maxsize=1)
def drug_classes() -> tuple[str, ...]:
    """The class of each group of drugs with its article, in the order of the groups of `drug`."""
    named: dict[str, str] = words("terms")["classes"]
    return tuple(named[group] for group in words("terms")["drugs"])


@lru_cache(maxsize=1)
def plausible_claims() -> tuple[str, ...]:
    """Claims that could be in any clinical note."""
    return tuple(words("terms")["plausible"])


@lru_cache(maxsize=1)
def body_part() -> Terms:
    """Body parts by region."""
    return Terms(_groups("body_parts"), dict(words("terms")["plurals"]), words("terms")["uncommon"]["body_parts"])


def _groups(key: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(tuple(tuple(term.split("/")) for term in group) for group in words("terms")[key].values())


def change_term(claim: str, terms: Terms, random: np.random.Generator, *, outside: bool) -> str | None:
    """``claim`` with its first term exchanged for another of the group, an uncommon one if ``outside``.

    The new term does not occur in the claim. None if the claim has no term, or the group no other such term.
    """
    no_noun = words("terms")["patterns"]["no_noun"]
    named = [(group, term, name) for group in terms.groups for term in group for name in term]
    for group, term, name in named:
        either = rf"\b(?:{re.escape(name)}|({re.escape(terms.plural(name))}))\b{no_noun}"
        match = re.search(either, claim, re.IGNORECASE)
        if match is not None:
            others = [other[0] for other in group if other is not term and other[0] not in claim.lower()]
            others = [other for other in others if (other in terms.uncommon) is outside]
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


KINDS = ("negation", "number", "side", "body part", "drug")
OUTSIDE = ", outside the lexicon"
"""Added to the kind of a change whose new term is uncommon."""

_SIDES = {"left": "right", "right": "left"}
_TEMPERATURES = ((35.0, 41.5, (36.6, 37.2, 38.1, 38.9, 39.6)), (95.0, 106.0, (98.1, 99.2, 100.8, 102.1, 103.4)))
_MOST = {"hour": 23, "day": 29, "week": 11, "month": 11}


def change(claim: str, kind: str, random: np.random.Generator) -> str | None:
    """``claim`` with one change of ``kind``; None if it contains nothing that can be changed."""
    made = _CHANGES[kind](claim, random)
    return made if made is not None and made != claim else None


def _negation(claim: str, random: np.random.Generator) -> str | None:
    del random
    listed = words("terms")
    negate = () if re.search(r", with |\brelief\b", claim) else listed["negate"]  # no "was not used, with relief"
    for asked, other in (*listed["undo"], *negate):
        made, count = re.subn(asked, other, claim, count=1)
        if count and not re.search(r"\bnot (?:non|no longer)|\bnever\b|\bhave (?:likely|incidentally)", made):
            return made[:1].upper() + made[1:] if claim[:1].isupper() else made
    return None


def _number(claim: str, random: np.random.Generator) -> str | None:
    """One number changed within its plausible range; scores such as 4/5, pressures and dates are not changed."""
    made = [(match, _other(match, random)) for match in pattern("terms", "number").finditer(claim)]
    possible = [(match, other) for match, other in made if other is not None]
    if not possible:
        return None
    match, other = possible[int(random.integers(len(possible)))]
    return put(claim, match, other)


def _other(match: re.Match[str], random: np.random.Generator) -> str | None:
    value, unit = float(match.group()), match["unit"].strip().lower()
    if unit in ("mg", "mcg"):
        return f"{value * 2:g}" if int(random.integers(2)) or value % 2 else f"{value / 2:g}"
    if re.search(r"\b(?:respirat\w+(?: rate)?|RR)\W+(?:\w+ )?$", match.string[: match.start()], re.IGNORECASE):
        return str(random.choice([rate for rate in range(12, 29, 2) if abs(rate - value) >= 4]))
    if "." in match.group() or "°" in unit or unit.startswith("degree"):
        return _temperature(value, random)
    if unit.startswith("%"):
        low = [percent for percent in range(88, 100) if abs(percent - value) >= 4]
        return str(random.choice(low)) if 85 <= value <= 100 else None
    if value < 2:  # "1 day" would need another noun
        return None
    if value <= 20:
        most = next((most for name, most in _MOST.items() if unit.startswith(name)), 40)
        others = [n for n in range(2, int(min(most, 2 * value + 4)) + 1) if abs(n - value) >= max(2, value / 3)]
        return str(random.choice(others)) if others else None
    return f"{round(value * float(random.choice([0.7, 1.3]))):d}" if value <= 200 else None


def _temperature(value: float, random: np.random.Generator) -> str | None:
    for low, high, others in _TEMPERATURES:
        if low <= value <= high:
            return str(random.choice([other for other in others if abs(other - value) >= 0.6]))
    return None


def _side(claim: str, random: np.random.Generator) -> str | None:
    del random
    if len(set(re.findall(r"\b(left|right|bilateral\w*|both)\b", claim.lower()))) != 1:
        return None  # "left more than left"
    match = pattern("terms", "sided").search(claim)
    return put(claim, match, _SIDES[match.group()]) if match else None


def _body_part(claim: str, random: np.random.Generator, *, outside: bool) -> str | None:
    """Only what any part can have, said of it in the same phrase: pain, tenderness, swelling, redness or an injury."""
    made = change_term(claim, body_part(), random, outside=outside)
    if made is None or pattern("terms", "narrow").search(claim) or pattern("terms", "single").search(made):
        return None
    new = "|".join(re.escape(word.strip(".,;")) for word in made.split() if word not in claim.split())
    local = words("terms")["patterns"]["local"]
    near = rf"{local}(?: \w+){{0,4}} (?:{new})\b|\b(?:{new}),? {local}"
    return made if re.search(near, made, re.IGNORECASE) else None


_CHANGES: dict[str, Callable[[str, np.random.Generator], str | None]] = {
    "negation": _negation,
    "number": _number,
    "side": _side,
    "body part": lambda claim, random: _body_part(claim, random, outside=False),
    "drug": lambda claim, random: change_term(claim, drug(), random, outside=False),
    "body part" + OUTSIDE: lambda claim, random: _body_part(claim, random, outside=True),
    "drug" + OUTSIDE: lambda claim, random: change_term(claim, drug(), random, outside=True),
}
ALL_KINDS = tuple(_CHANGES)
