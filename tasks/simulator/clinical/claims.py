"""Claims of a short statement about symptoms of the domain and dates: "no chills", "at none of the visits"."""

import re
from dataclasses import dataclass

from tasks.simulator.clinical import findings
from tasks.simulator.clinical.lexicon import reading, symptoms
from tasks.simulator.resources import vocabulary

DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_WORDS = vocabulary("clinical")
NOT_STATED = re.compile(rf"\b{_WORDS['not_stated']}\b", re.IGNORECASE)
REFUSED = re.compile(
    r"\b(?:unable to|cannot|can't|could not|won't) (?:answer|say|tell|help|determine)\b", re.IGNORECASE
)
_NONE = re.compile(r"\b(?:none|never|neither|at no (?:visit|time)|no visit|not (?:at|on) any)\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|both|each|every|either)\b", re.IGNORECASE)
_LASTING = re.compile(r"\b(?:both|either (?:day|visit)|unchanged|each time|throughout|all)\b", re.IGNORECASE)
_TURN = re.compile(r",?\s*\bthen\b|\bfrom\b(?P<before>.+?)\bto\b", re.IGNORECASE)
_LEVEL = re.compile(r"\b(high|low)\b(?:[- ]grade)?", re.IGNORECASE)

Claims = dict[str, str]
"""Maps a symptom to its claimed state: present, absent, or its level (high, low)."""


def symptoms_in(text: str) -> list[str]:
    """Return the symptoms mentioned in ``text``, in order."""
    named = [finding.concept for finding in findings.find(text) if finding.concept in symptoms()]
    return list(dict.fromkeys(named))


def claims(text: str) -> Claims:
    """Return the state that ``text`` claims for each symptom; the last mention takes precedence."""
    stated: Claims = {}
    for finding in findings.find(text):
        if finding.concept not in symptoms():
            continue
        stated[finding.concept] = "absent" if finding.polarity == "absent" else "present"
        if finding.concept == reading().temperature and finding.polarity != "absent":
            around = text[max(0, finding.start - 15) : finding.end + 25]
            if level := _LEVEL.search(around):
                stated[finding.concept] = level.group(1).lower()
    return stated


def not_stated(text: str) -> bool:
    """Whether a statement says that the notes do not contain the answer."""
    return NOT_STATED.search(text) is not None and not DATE.search(text)


def course(text: str) -> tuple[Claims, Claims] | None:
    """Return the claims for an earlier and a later time; None if the text is about one time only."""
    days = list(DATE.finditer(text))
    if len(days) == 2:
        first, second = days
        return claims(_segment(text, first, second)), claims(_segment(text, second, None))
    if turn := _TURN.search(text):
        before = turn.group("before") or text[: turn.start()]
        return claims(before.strip()), claims(text[turn.end() :].strip())
    if _LASTING.search(text):
        stated = claims(text)
        return stated, stated
    return None


def _segment(text: str, day: re.Match[str], following: re.Match[str] | None) -> str:
    return text[day.end() : following.start() if following else len(text)].strip(" :,;.")


@dataclass(frozen=True)
class Days:
    """Days named in a statement: dates, or all, or none of the days in question."""

    dates: frozenset[str]
    every: bool = False
    none: bool = False

    def among(self, dates: frozenset[str]) -> frozenset[str]:
        """Return the days meant out of ``dates``."""
        if self.dates:
            return self.dates
        return frozenset() if self.none or not self.every else dates


def days(text: str) -> Days | None:
    """Return the days that a statement names; None if it names none."""
    dates = frozenset(DATE.findall(text))
    if dates or _NONE.search(text) or _ALL.search(text):
        return Days(dates, every=bool(_ALL.search(text)), none=bool(_NONE.search(text)))
    return None
