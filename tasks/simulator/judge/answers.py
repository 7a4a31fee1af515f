"""Judge whether an answer to a question agrees with the reference answer."""

import re

from tasks.domains.in_use import domain_cache
from tasks.simulator.clinical.claims import REFUSED, Claims, claims, course, days, not_stated
from tasks.simulator.clinical.similarity import says
from tasks.simulator.clinical.words import content_words
from tasks.simulator.request import ChatRequest, read_choices
from tasks.text.final_answer import final_letter

_LETTER = re.compile(
    r"^\W*(?:(?i:(?:the\s+)?(?:correct\s+|right\s+|best\s+)?(?:answer|choice|option)(?:\s+is)?\s*:?\s*))?\W*"
    r"([A-E])(?![A-Za-z0-9'’]|\s[a-z])"
)
_DESCRIBED = re.compile(r"\b(?:described|describe|character|nature|kind of)\b", re.IGNORECASE)
_FRAME = re.compile(r"^(?:as|it is|described as)\s+", re.IGNORECASE)
_EMPTY = frozenset(["that", "note", "notes", "patient"])
"""Words without content in answers, in addition to stop words."""
_HELD = 0.6
"""Minimum share of the reference answer's words in the answer, where neither days nor symptoms decide."""


def judge_answer(request: ChatRequest) -> str:
    """Reply to ``judge an answer``."""
    output, right = request.tag("output"), request.tag("right")
    choices = read_choices(request.tag("choices", default=""))
    question = request.tag("question")
    fits = _by_choice(output, right, choices, question) if choices else says_the_same(output, right, question)
    return "yes" if fits else "no"


def _by_choice(output: str, right: str, choices: dict[str, str], question: str) -> bool:
    """Whether an answer names or repeats the right choice and no other."""
    letter, _, text = right.partition(": ")
    if named := final_letter(output):
        return named == letter
    if alone := _LETTER.match(output):
        return alone.group(1) == letter
    if REFUSED.search(output) and not not_stated(text):
        return False
    said = " ".join(output.casefold().split()).strip(" .")
    repeated = [a for a, choice in choices.items() if " ".join(choice.casefold().split()).strip(" .") == said]
    if repeated:
        return repeated == [letter]
    return says_the_same(output, text, question)


def says_the_same(output: str, right: str, question: str) -> bool:
    """Whether a free-text answer agrees with all claims of the reference answer."""
    if not_stated(right) or not_stated(output):
        return not_stated(right) and (not_stated(output) or bool(REFUSED.search(output)))
    if REFUSED.search(output):
        return False
    if _DESCRIBED.search(question):
        return _same_description(output, right)
    wanted_course, given_course = course(right), course(output)
    if wanted_course and any(wanted_course):
        if given_course is None:
            return False
        return all(_agree(given, wanted) for given, wanted in zip(given_course, wanted_course, strict=True))
    wanted_days = days(right)
    if wanted_days and not claims(right):
        return _same_days(output, right, question)
    wanted = claims(right)
    if wanted:
        given = claims(output)
        return _agree(given, wanted) and _others_agree(given, wanted)
    held = _words(right)
    return len(held & _words(output)) >= _HELD * len(held)


def _same_description(output: str, right: str) -> bool:
    """Whether an answer contains the reference description."""
    wanted = _FRAME.sub("", right).strip(" .")
    return says(output, wanted) or _words(wanted) <= _words(output)


def _agree(given: Claims, wanted: Claims) -> bool:
    """Whether all wanted claims are given; a level counts if the reference answer has one."""
    for symptom, value in wanted.items():
        claim = given.get(symptom)
        if claim is None or (claim != value and not (value == "present" and claim in ("high", "low"))):
            return False
    return True


def _others_agree(given: Claims, wanted: Claims) -> bool:
    """Whether the answer claims no further symptom as present."""
    return all(symptom in wanted or claim == "absent" for symptom, claim in given.items())


def _same_days(output: str, right: str, question: str) -> bool:
    named, meant = days(output), days(right)
    if named is None or meant is None:
        return False
    if named.dates and meant.dates:
        return named.dates == meant.dates
    if meant.none or named.none:
        return meant.none == named.none and not named.dates and not meant.dates
    return named.every or (meant.every and len(named.dates) > 1)


@domain_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(word[:5] for word in content_words(text) if word not in _EMPTY)
