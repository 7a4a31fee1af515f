"""Flaws by which a planted claim gives itself away: what a reader notices without knowing the note."""

import re

FLAWS = {
    "blank or mark left": r"  |\s[,.;:](?:\s|$)|,,|\.\.(?!\.)|\(\s|\n\n\n|, *\.|;\s*\.$",
    "double negation": (
        r"\b(?:does|do|is|was|are|were|has|have) not (?:have )?(?:no|not|non-\w+|never|without)\b"
        r"|\b(?:[Dd]enies|[Nn]o|[Ww]ithout) (?:no|not|denies|without)\b"
    ),
    "article": r"\b[Aa] (?=[aeio][a-z]+)(?!one\b|once\b|un[ia]|eu|us)|\b[Aa]n (?=[bcdfgjklmnpqrstvwxz][a-z]{2})",
    "unit without number": (
        r"(?<![\d%.)])(?<![\d%.)] )(?:\bmmHg|\bbpm|\bmcg|°C|°F)(?![\w/])|\bfor (?:hour|day|week|month)s?\b[,.]"
    ),
    "number": (
        r"\b(?:hour|day|week|month|year), \d|\b1 (?:hours|days|weeks|months|years)\b|\bout of (?:1[1-9]|[2-9]\d)\b"
    ),
    "number of the noun": (
        r"\b(?:There|there) (?:is|was) (?:no )?(?:signs|complaints|reports|wheezes|crackles|masses)\b"
    ),
    "verb": r"\bdoes not have \w+ly \w+\b|\bhas not (?:a|an|the)\b|\bmay (?:be|have been) (?:not|no)\b",
    "vital sign": r"\b(?:[Rr]espiratory rate|RR)\W+(?:\w+ )?(?:[1-7]|[4-9]\d)\b(?![/.]\d)",
    "lower case": r"^[a-z]{2}[a-z ]{10}",
}


def flaws(claim: str) -> list[str]:
    """Names of the flaws of a claim."""
    return [name for name, pattern in FLAWS.items() if re.search(pattern, claim)]


def new_flaws(claim: str, source: str) -> list[str]:
    """Flaws of a claim that the sentence from which it was made does not have."""
    return [name for name in flaws(claim) if name not in flaws(source)]
