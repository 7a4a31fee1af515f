"""Change a claim by script so that it is no longer true: negation, number, side, body part or drug.

A change that would not yield a possible sentence is not made. Terms come from terms.yaml, not from the judge's lists.
"""

import re
from collections.abc import Callable

import numpy as np

from tasks.evaluation.calibration.terms import body_part, change_term, drug

KINDS = ("negation", "number", "side", "body part", "drug")
OUTSIDE = ", outside the lexicon"
"""Added to the kind of a change whose new term is not in the judge's word lists."""

_VERB = r"(?:is|are|was|were|has|have)"
_PARTICIPLE = r"(?=(?:\w+ly )?(?:\w+ed|" + (
    r"been|had|lost|felt|come|begun|gone|taken|kept|made|run|got|become|seen|slept|eaten|risen)\b)"
)
_PLURAL = r"(?:\w+ )?\w*[^\Wsu]s\b(?! of\b)|\w*(?:signs|complaints|reports|symptoms)\b"
_UNDO = (  # negation removed, first match
    (r"\bdenies (?:any )?", "reports "),
    (r"\bdenied (?:any )?", "reported "),
    (r"\bdoes not have (?:any )?", "has "),
    (r"\bhas not\b", "has"),
    (r"\b(is|are|was|were|did|does|will|can) ?not\b", r"\1"),
    (rf"\bThere is no (?={_PLURAL})", "There are "),
    (r"\b(There (?:is|are|was|were)) no\b", r"\1"),
    (rf"^No (?=[^,;]*\b{_VERB}\b)", ""),
    (rf"^No (?={_PLURAL})", "There are "),
    (r"^No (?=\w)", "There is "),
    (r"\bno (?!longer\b|one\b|more\b|less\b)(?:evidence of |signs? of )?", ""),
    (r"\bwithout (?!\w+ing\b)", "with "),
)
_NEGATE = (  # negation inserted, first match
    (r"\breports\b", "denies"),
    (r"\breported\b(?! by)", "denied"),
    (rf"\bhas {_PARTICIPLE}", "has not "),
    (r"\bhas (?!to\b)", "does not have "),
    (r"\bThere (is|are|was|were) (?:an? )?", r"There \1 no "),
    (r"\b(is|are|was|were|will)\b(?! (?:not\b|\d))", r"\1 not"),
    (r"\bshows\b", "does not show"),
    (r"\bexperiences\b", "does not experience"),
)
_LOCAL = r"(?<!-)\b(?:pain\w*|tender\w*|swell\w*|swollen|sore\w*|redness|bruis\w*|hurts?|injur\w*)\b"
_NARROW = re.compile(
    r"\b(?:dorsal|anterior|posterior|medial|lateral|joint|line|ligament|lips|airways?|palpation|radiat\w+|swallow\w*|region)\b"
)
"""Words of parts of a region that other regions do not have."""
_SIDES = {"left": "right", "right": "left"}
_SIDED = (
    r"(?=[ -](?:sided?|upper|lower|middle|lung|lobe|flank|shoulder|elbow|wrist|hand|hip|knee|ankle|foot|arm|leg|ear)\b)"
)
_NUMBER = re.compile(
    r"(?<!out of )(?<! to )(?<![\w./:-])\d+(?:\.\d+)?"
    r"(?!st\b|nd\b|rd\b|th\b| to \d|[\w/:.-]*\d|/| out of| of \d)(?=(?P<unit>\s*[\w°%]*))"
)
_TEMPERATURES = ((35.0, 41.5, (36.6, 37.2, 38.1, 38.9, 39.6)), (95.0, 106.0, (98.1, 99.2, 100.8, 102.1, 103.4)))
_MOST = {"hour": 23, "day": 29, "week": 11, "month": 11}


def change(claim: str, kind: str, random: np.random.Generator) -> str | None:
    """``claim`` with one change of ``kind``; None if it contains nothing that can be changed."""
    made = _CHANGES[kind](claim, random)
    return made if made is not None and made != claim else None


def _negation(claim: str, random: np.random.Generator) -> str | None:
    del random
    negate = () if re.search(r", with |\brelief\b", claim) else _NEGATE  # "was not used, with little relief"
    for pattern, other in (*_UNDO, *negate):
        made, count = re.subn(pattern, other, claim, count=1)
        if count and not re.search(r"\bnot (?:non|no longer)|\bnever\b|\bhave (?:likely|incidentally)", made):
            return made[:1].upper() + made[1:] if claim[:1].isupper() else made
    return None


def _number(claim: str, random: np.random.Generator) -> str | None:
    """One number changed within its plausible range; scores such as 4/5, pressures and dates are not changed."""
    made = [(match, _other(match, random)) for match in _NUMBER.finditer(claim)]
    possible = [(match, other) for match, other in made if other is not None]
    if not possible:
        return None
    match, other = possible[int(random.integers(len(possible)))]
    return claim[: match.start()] + other + claim[match.end() :]


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
    match = re.search(rf"\b(left|right){_SIDED}", claim)
    return claim[: match.start()] + _SIDES[match.group()] + claim[match.end() :] if match else None


def _body_part(claim: str, random: np.random.Generator, *, outside: bool) -> str | None:
    """Only what any part can have, said of it in the same phrase: pain, tenderness, swelling, redness or an injury."""
    made = change_term(claim, body_part(), random, outside=outside)
    if made is None or _NARROW.search(claim):
        return None
    new = "|".join(re.escape(word.strip(".,;")) for word in made.split() if word not in claim.split())
    near = rf"{_LOCAL}(?: \w+){{0,4}} (?:{new})\b|\b(?:{new}),? {_LOCAL}"
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
