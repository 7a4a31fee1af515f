"""Subtle changes: claims that are nearly true, with all or most of their words in the note.

A detail is stretched, widened, moved from another sentence, or added because notes often have it. The note states none
of these claims in full; each function returns None where the note could support its change. Words: subtle.yaml.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import yaml

from tasks.evaluation.calibration.changes import change
from tasks.evaluation.calibration.graded import graded_pairs
from tasks.text.sentences import sentences

_NEGATED = re.compile(r"\b(?:no|not|den(?:y|ies|ied)|without|never|nor|none|absent|negative)\b", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:for|(?:for|over|during|in) the (?:past|last)) (?:about |roughly |approximately |around )?"
    r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|several|few) (?:days|weeks|months|years)\b(?! ago)"
)
_TIMES = re.compile(
    r"\b(?:day|week|month|year|hour|night|morning|afternoon|evening|winter|summer|spring|autumn|season)(?:s|ly)?\b|"
    r"\b(?:today|yesterday|ago|since|recent\w*|now|current\w*|always|often|sometimes|daily|until|when|after|before|"
    r"history|previous\w*|began|started|first|later|weekend\w*)\b"
)
_NO_LIST = re.compile(
    r"\b(?:but|which|with|they|he|she|is|are|was|has|been|no|not|due|there|her|his|to|on|in|patient)\b"
)
_GOES_ON = re.compile(r",? (?:and |but )?(?:without|with|no|or)\b|-| (?!and\b|for\b|over\b|since\b)\w")
_COURSE = re.compile(
    r"worse|worsen|increas|progress|intensi|frequent|improv|better|gradual|fluctuat|stable|constant|slow"
)
_CAUSAL = re.compile(r"\b(?:due to|because|caused|attribut|related|relat|trigger|result|explain|link|put down|second)")
_REPORTED = re.compile(
    r"^(?:The patient|Patient|He|She) (?:also )?(?:reports|mentions|describes|has|notes|feels) "
    r"(?!that\b|using\b|taking\b|"
    r"undergoing\b|"
    r"being\b|\w+ed\b|he\b|she\b)"
)


@lru_cache(maxsize=1)
def subtle_words() -> dict[str, Any]:
    """The patterns and additions of subtle.yaml."""
    raw: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("subtle.yaml").read_text(encoding="utf-8"))
    return raw


@lru_cache(maxsize=1)
def _wider() -> re.Pattern[str]:
    return re.compile(
        r"\b(?P<denial>no|denies|denied|without)(?P<between>(?: any| a| history of| signs of| evidence of| other)*)"
        rf" (?:{'|'.join(subtle_words()['qualifiers'])})(?= (?P<denied>[a-z]{{4,6}}))"
    )


@lru_cache(maxsize=1)
def _denied() -> re.Pattern[str]:
    """A denied list of symptoms, and its first item."""
    last = "|".join(subtle_words()["denied"])
    return re.compile(
        r"\b(?:[Dd]enies|(?:reports|reported|has|mentions|[Tt]here is) no)(?: any| complaints of| symptoms of)? "
        rf"(?P<list>(?P<first>(?:[a-z]+ ){{0,2}}(?:{last}))(?:,| or| and) [^.;:]+)\.$"
    )


@lru_cache(maxsize=1)
def _causes() -> re.Pattern[str]:
    return re.compile(rf"\b(?:history of|known|diagnosed with) (?P<cause>{'|'.join(subtle_words()['causes'])})\b")


@lru_cache(maxsize=1)
def _complaint() -> re.Pattern[str]:
    return re.compile(
        r"^(?:The patient|Patient|He|She|Mr\. \w+|Ms\. \w+)\b.*"
        rf"\b(?:{'|'.join(subtle_words()['complaints'])})\b"
    )


def subtle_claims(note: str, sentence: str) -> list[tuple[str, str]]:
    """Kinds and claims made from a ``sentence`` of ``note``; the note states none of them in full."""
    made = {
        "quantifier changed": _quantifier(sentence),
        "denial made wider": _wider_denial(note, sentence),
        "usual detail added": _usual_detail(note, sentence),
        "course added": _course(note, sentence),
        "cause invented": _cause(note, sentence),
        "time of another finding": _other_time(note, sentence),
        "past given as present": _present(note, sentence),
    }
    return [(kind, claim) for kind, claim in made.items() if claim is not None and claim not in note]


def change_detail(note: str, sentence: str, random: np.random.Generator) -> str | None:
    """``sentence`` with another number, unit, side, order, degree, quantifier or wider denial; None if it has none."""
    made = [change(sentence, kind, random) for kind in ("number", "side")]
    made += [
        claim
        for kind, _, claim in graded_pairs(note, sentence)
        if kind in ("other unit", "other order", "other degree")
    ]
    made += [_quantifier(sentence), _wider_denial(note, sentence)]
    possible = [claim for claim in made if claim is not None]
    return possible[int(random.integers(len(possible)))] if possible else None


def _quantifier(sentence: str) -> str | None:
    for pattern, other in subtle_words()["quantifiers"]:
        made, count = re.subn(pattern, other, sentence, count=1)
        if count and not _NEGATED.search(sentence):
            return made
    return None


def _wider_denial(note: str, sentence: str) -> str | None:
    """A denial without its qualifier: "no recent travel" does not say "no travel"."""
    match = _wider().search(sentence)
    if match is None or note.lower().count(match["denied"]) > 1:
        return None
    between = re.sub(r" a$", "", match["between"])
    return f"{sentence[: match.end('denial')]}{between}{sentence[match.end() :]}"


def _usual_detail(note: str, sentence: str) -> str | None:
    """What often goes with a finding, added to it: the last of a denied list, or a finding of the examination."""
    denied = _denied().search(sentence)
    if denied is not None and not _NO_LIST.search(denied["list"]):
        absent = [added for added, mentioned in subtle_words()["companions"] if not _says(note, mentioned)]
        if absent:
            first = denied["first"]
            added = absent[len(sentence) % len(absent)]
            return f"{sentence[: denied.start('first')]}{first}, {added}{_or(sentence[denied.end('first') :])}"
    for pattern, added, mentioned in subtle_words()["findings"]:
        match = re.search(pattern, sentence, re.IGNORECASE)
        if match is not None and not _says(note, mentioned) and not _NEGATED.search(match.group()):
            rest = sentence[match.end() :]
            return None if _GOES_ON.match(rest) else f"{sentence[: match.end()]}{added}{rest}"
    return None


def _or(rest: str) -> str:
    """The rest of a list of two items, of which there are three now, or of a longer one."""
    return re.sub(r"^ (or|and) ", r", \1 ", rest)


def _says(note: str, mentioned: str) -> bool:
    return re.search(mentioned, note, re.IGNORECASE) is not None


def _course(note: str, sentence: str) -> str | None:
    """A course of the complaint, where the note gives none."""
    begins = _complaint().match(sentence) and _TIME.search(sentence) and not _NEGATED.search(sentence)
    if not begins or _COURSE.search(note.lower()):
        return None
    return f"{sentence[:-1]}, getting gradually worse."


def _cause(note: str, sentence: str) -> str | None:
    """Two findings of the note, joined by a cause that the note does not state."""
    cause = _causes().search(note)
    if cause is None or not _complaint().match(sentence) or _NEGATED.search(sentence) or _CAUSAL.search(note.lower()):
        return None
    if cause["cause"].lower() in sentence.lower() or _causes().search(sentence):
        return None
    return f"{sentence[:-1]}, caused by the {cause['cause']}."


def _other_time(note: str, sentence: str) -> str | None:
    """A finding without a time, with the duration that the note gives for another."""
    if not _REPORTED.match(sentence) or _TIMES.search(sentence) or _NEGATED.search(sentence):
        return None
    if len(sentence.split()) > 14 or re.search(r"[,;]| as | had | history ", sentence):
        return None
    for other in _others(note, sentence):
        time = _TIME.search(other)
        if time is not None and not _words(other) & _words(sentence):
            return f"{sentence[:-1]} {time.group()}."
    return None


def _others(note: str, sentence: str) -> Iterator[str]:
    return (other for other in sentences(note) if other != sentence and not _NEGATED.search(other))


def _words(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[a-z]{4,}", text.lower()) if word not in ("patient", "reports", "with")}


def _present(note: str, sentence: str) -> str | None:
    for pattern, claim, mentioned in subtle_words()["past"]:
        if re.search(pattern, sentence) and not _NEGATED.search(sentence):
            return None if _says(note, mentioned) else claim
    return None
