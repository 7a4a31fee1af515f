"""Changes a claim by script so that it is no longer true: negation, number, side, body part or drug.

Shares no word list with the judge.
"""

import re
from collections.abc import Callable

import numpy as np

KINDS = ("negation", "number", "side", "body part", "drug")

_UNDO = (  # negation taken away, the first that fits
    (r"\bdenies (?:any )?", "reports "),
    (r"\bdoes not have (?:any )?", "has "),
    (r"\bhas not\b", "has"),
    (r"\b(is|are|was|were|did|does|will|can) ?not\b", r"\1"),
    (r"\b(There (?:is|are|was|were)) no\b", r"\1"),
    (r"^No (\w)", r"There is \1"),
    (r"\bno (?:evidence of |signs? of )?", ""),
    (r"\bwithout\b", "with"),
)
_NEGATE = (  # negation put in
    (r"\breports\b", "denies"),
    (r"\bhas been\b", "has not been"),
    (r"\bhas\b", "does not have"),
    (r"\b(is|are|was|were|will)\b", r"\1 not"),
    (r"\bshows\b", "does not show"),
    (r"\bexperiences\b", "does not experience"),
)
_SIDES = {"left": "right", "right": "left"}
_PARTS = (
    "shoulder elbow wrist hand knee ankle foot hip neck back head chest abdomen throat ear eye arm leg nose stomach"
)
_DRUGS = (
    "lisinopril metformin paracetamol ibuprofen prednisone gabapentin simvastatin metoprolol furosemide omeprazole "
    "methotrexate salbutamol insulin aspirin amoxicillin doxycycline losartan tramadol levothyroxine albuterol tylenol"
)


def change(claim: str, kind: str, random: np.random.Generator) -> str | None:
    """``claim`` with one change of ``kind``; None where it has nothing of the kind."""
    made = _CHANGES[kind](claim, random)
    return made if made is not None and made != claim else None


def _negation(claim: str, random: np.random.Generator) -> str | None:
    del random
    for pattern, other in (*_UNDO, *_NEGATE):
        made, count = re.subn(pattern, other, claim, count=1)
        if count:
            return made
    return None


def _number(claim: str, random: np.random.Generator) -> str | None:
    found = list(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)", claim))
    if not found:
        return None
    match = found[int(random.integers(len(found)))]
    value = float(match.group())
    other = value + (int(random.integers(2, 6)) if value < 20 else int(random.choice([10, 15, -7])))
    return claim[: match.start()] + f"{other:g}" + claim[match.end() :]


def _side(claim: str, random: np.random.Generator) -> str | None:
    del random
    match = re.search(r"\b(left|right)\b", claim)
    return claim[: match.start()] + _SIDES[match.group()] + claim[match.end() :] if match else None


def _swap(words: str) -> Callable[[str, np.random.Generator], str | None]:
    known = words.split()
    pattern = re.compile(rf"\b({'|'.join(known)})(s?)\b", re.IGNORECASE)

    def swap(claim: str, random: np.random.Generator) -> str | None:
        match = pattern.search(claim)
        if match is None:
            return None
        others = [word for word in known if word != match[1].lower()]
        return claim[: match.start()] + others[int(random.integers(len(others)))] + match[2] + claim[match.end() :]

    return swap


_CHANGES: dict[str, Callable[[str, np.random.Generator], str | None]] = {
    "negation": _negation,
    "number": _number,
    "side": _side,
    "body part": _swap(_PARTS),
    "drug": _swap(_DRUGS),
}
