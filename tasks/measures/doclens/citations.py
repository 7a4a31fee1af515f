"""Citations of an output: its statements, and whether their citations support them (DocLens, Section 3.3).

Statements are judged by the definition, or with one call for all citations of a statement (Section 3.5).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import Field, ValidationInfo, field_validator

from schemas.tables.verdicts import Judgement
from tasks.llm.ask_all import ask_all
from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.measures.doclens.evaluators import Evaluator, Question
from tasks.text import sections, soap
from tasks.text.sentences import COMPARISON, sentences

K = TypeVar("K")
Failures = list[tuple[K, str, str | None]]
"""Key of the text, reason and raw reply of each judgement that failed."""

_DASH = "[–—‑−‒~-]"
_CITATION = rf"[\[【［]\s*(\d{{1,12}}(?:\s*(?:[,;&]|and|{_DASH})\s*\d{{1,12}})*)\s*[\]】］](?!\s?/\s?\d|\s?%)"
"""``[1]``, ``[1, 2]``, ``[3-5]``, also in the brackets that Chinese has; not of a fraction, as ``[3]/10``."""
_RANGE = re.compile(rf"([\[【［]\s*\d{{1,12}})\s*[\]】］][ \t]*+{_DASH}[ \t]*+[\[【［]\s*(\d{{1,12}}\s*[\]】］])")
_SERIES = re.compile(rf"{_CITATION}[ \t]*+(?:[,;&]|and)[ \t]*+(?={_CITATION})")
_MARK = re.compile(rf"(?:(?<!\s)\s++)?{_CITATION}")
_MARK_IN_LINE = re.compile(rf"(?:(?<![ \t])[ \t]++)?{_CITATION}")
MOST_UNITS = 10_000
"""Units of a source whose number is not known."""
_AFTER = re.compile(r"\s*+[.!?;](?=\s++[^\sa-z]|\s*+$)|\s*+$|(?:\s(?=\s))*+(?=\s[^\sa-z])")
"""What follows a citation that ends a statement: perhaps a full stop, then no lower case. Blanks are read once."""
_ABBREVIATED = re.compile(
    r"\b(?:abd|ant|approx|ca|cerv|dist|esp|excl|ext|incl|inf|int|lat|lumb|mod|occ|paravert|perc|post|prev|prox|pt|rad|"
    r"resp|rot|sens|sev|sl|spin|sup|temp|thor|vert|vs)\W*\.$",
    re.IGNORECASE,
)
"""Abbreviations that are followed by the rest of the statement also when it begins with a capital (``sl. L>R``)."""
MAX_CITATIONS = 10  # per statement; the released script ignores further ones


@dataclass(frozen=True)
class Statement:
    """An output statement without citation marks, and the numbers of the input sentences that it cites."""

    text: str
    citations: tuple[int, ...]


def number_sentences(source: Sequence[str]) -> str:
    """Number the input sentences, one per line: ``[0] first sentence``."""
    return "\n".join(f"[{number}] {' '.join(sentence.split())}" for number, sentence in enumerate(source))


def without_citations(output: str, units: int = MOST_UNITS) -> str:
    """The output without marks that cite one of ``units`` sentences; its claims are judged in this form."""
    return _without(_MARK_IN_LINE, _joined(output, units), units)


def _joined(text: str, units: int) -> str:
    """Citations one after the other without what joins them: ``[1], [2] and [3]``, and ``[1]-[3]`` as ``[1-3]``."""

    def cites(*numbers: str) -> bool:
        return all(_is_citation(one, units) for one in numbers)

    def ranged(found: re.Match[str]) -> str:
        return f"{found[1]}-{found[2]}" if cites(found[1], found[2]) else found[0]

    def adjacent(found: re.Match[str]) -> str:
        return f"[{found[1]}]" if cites(found[1], found[2]) else found[0]

    return _SERIES.sub(adjacent, _RANGE.sub(ranged, text))


def _without(marks: re.Pattern[str], text: str, units: int) -> str:
    return marks.sub(lambda mark: "" if _is_citation(mark[1], units) else mark[0], text)


def read_statements(output: str, units: int = MOST_UNITS) -> list[Statement]:
    """Split a cited output into statements, in order: its sentences without headings and numbers of lists.

    ``units``: how many sentences the source has. A bracket with another number, such as ``[135-145]``, is no citation.

    Citations follow the statement, before or after its full stop, and end it (``spin. proc. [15]. Flex ltd``). A
    sentence without citations takes those of the next cited sentence in the same line, as in the released script.
    """
    statements = []
    for line in _joined(output, units).split("\n"):
        found = [_statement(sentence, units) for sentence in _cited_sentences(line, units)]
        found = [statement for statement in found if re.search(r"[^\W\d]", statement.text)]
        for at, statement in enumerate(found):
            following = next((other.citations for other in found[at:] if other.citations), ())
            statements.append(Statement(statement.text, statement.citations or following))
    return [statement for statement in statements if not _is_heading(statement)]


def _cited_sentences(line: str, units: int) -> Iterator[str]:
    """Sentences of a line with their marks; a mark belongs to the text before it."""
    start = 0
    for first, end in _groups(line, units):
        if ends := _AFTER.match(line, end):
            *before, last = _whole_sentences(line[start:first]) or [""]
            yield from before
            stop = "" if last.endswith(".") else ends.group().strip()
            yield last + line[first:end] + stop
            start = ends.end()
    yield from _whole_sentences(line[start:])


def _groups(line: str, units: int) -> list[tuple[int, int]]:
    """Where each series of citations that follow one another starts and ends."""
    found: list[tuple[int, int]] = []
    for mark in _MARK.finditer(line):
        if _is_citation(mark[1], units):
            joined = bool(found) and found[-1][1] == mark.start()
            found[-1 if joined else len(found) :] = [(found[-1][0] if joined else mark.start(), mark.end())]
    return found


def _whole_sentences(text: str) -> list[str]:
    """Sentences of ``text``; one that ends in an abbreviation goes on with the next."""
    found: list[str] = []
    for sentence in sentences(text):
        if found and _ABBREVIATED.search(found[-1]):
            found[-1] += f" {sentence}"
        else:
            found.append(sentence)
    return found


def _statement(sentence: str, units: int) -> Statement:
    marks = [mark for mark in _MARK.findall(sentence) if _is_citation(mark, units)]
    numbers = dict.fromkeys(number for mark in marks for number in _cited_numbers(mark))
    return Statement(" ".join(_without(_MARK, sentence, units).split()), tuple(numbers)[:MAX_CITATIONS])


def _ranges(mark: str) -> Iterator[tuple[int, int]]:
    """First and last number of each part of a mark: ``1, 3-5`` gives 1 and 1, 3 and 5."""
    for part in re.split(r"[,;&]|and", mark):
        first, *rest = (int(number) for number in re.findall(r"\d+", part))
        yield first, rest[-1] if rest else first


def _is_citation(mark: str, units: int) -> bool:
    """Whether a mark cites: all its numbers are units of the source; other brackets are part of the text."""
    return all(max(bounds) < units for bounds in _ranges(mark))


def _cited_numbers(mark: str) -> Iterator[int]:
    """The numbers in a mark: ``1, 3-5`` gives 1, 3, 4 and 5."""
    for first, last in _ranges(mark):
        yield from range(first, last + 1) if first <= last else (first, last)


def _is_heading(statement: Statement) -> bool:
    text = statement.text.strip("*# ")
    if statement.citations:
        return False
    is_marked = statement.text.startswith("#") or re.fullmatch(r"\*\*[^*]+\*\*", statement.text) is not None
    return text.isupper() or text.endswith(":") or is_marked or sections.is_heading(text) or soap.is_heading(text)


Judged = tuple[Judgement, list[Judgement]]
"""Whether the citations of a statement support it, and whether each citation is necessary."""


def necessary(supported: Judgement, alone: Judgement, without: Judgement) -> Judgement:
    """Whether C => s, and c => s or C without c does not entail s (Section 3.3 (i), (ii)); None if undecided."""
    if not supported:
        return supported
    if alone is True or without is False:
        return True
    return None if alone is None or without is None else False


async def judge_citations(
    evaluator: Evaluator, outputs: Mapping[K, Sequence[Statement]], sources: Mapping[K, Sequence[str]]
) -> tuple[dict[K, list[Judged]], Failures]:
    """Judge citations by the definition: C => s, {c} => s and C without c => s, for each statement and citation.

    Statements of a text with the same cited sentences are judged in one call, each by itself. Returns judgements by
    text key, and the failed ones. A citation of a sentence that does not exist supports nothing. A text of which the
    judge answered nothing has no judgement: what is certain without it, such as copies, is no score by itself.
    """
    asked: dict[tuple[K, str], dict[tuple[int, str], str]] = {}  # statements of each text and premise, by place
    for key, statements in outputs.items():
        for at, statement in enumerate(statements):
            for part, numbers in _premises(statement.citations).items():
                premise = "\n".join(sources[key][number] for number in numbers if number < len(sources[key]))
                if premise:
                    asked.setdefault((key, premise), {})[at, part] = statement.text
    questions = [
        Question(f"{key}/citations/{at}", premise, tuple(said.values()))
        for at, ((key, premise), said) in enumerate(asked.items())
    ]
    by_place: dict[tuple[K, int, str], Judgement] = {}
    failures: Failures = []
    answered: dict[K, bool] = {}  # whether the judge answered anything on a text that it was asked about
    for ((key, _), said), verdict in zip(asked.items(), await evaluator(questions), strict=True):
        by_place |= {(key, *place): one for place, one in zip(said, verdict.judgements, strict=True)}
        if verdict.asked:
            answered[key] = answered.get(key, False) or any(one is not None for one in verdict.judgements)
        if verdict.failure is not None:
            failures.append((key, verdict.failure, verdict.raw))

    def judged(key: K, at: int, citations: Sequence[int]) -> Judged:
        if not answered.get(key, True):
            return None, [None] * len(citations)
        said = {part: by_place.get((key, at, part), False) for part in ("all", *_premises(citations))}
        if len(citations) < 2:  # {c} is C, and the rest is empty
            return said["all"], [said["all"]] * len(citations)
        return said["all"], [necessary(said["all"], said[f"alone{c}"], said[f"without{c}"]) for c in citations]

    return {
        key: [judged(key, at, one.citations) for at, one in enumerate(own)] for key, own in outputs.items()
    }, failures


def _premises(every: Sequence[int]) -> dict[str, Sequence[int]]:
    parts = {"all": every} if every else {}
    if len(every) > 1:
        parts |= {f"alone{number}": (number,) for number in every}
        parts |= {f"without{number}": tuple(other for other in every if other != number) for number in every}
    return parts


class CitationVerdict(Reply):
    """The reason for the verdict, which sentences support the statement, and 1 when they entail it together, else 0."""

    explanation: str
    supporting: list[int]
    entailed: int = Field(ge=0, le=1)

    @field_validator("supporting")
    @classmethod
    def _are_cited(cls, given: list[int], info: ValidationInfo) -> list[int]:
        cited = (info.context or {}).get("cited", given)
        if unknown := sorted(set(given) - set(cited)):
            raise ValueError(f"sentence {unknown[0]} is not cited; cited are {', '.join(map(str, cited))}")
        return given


async def judge_citations_in_one_call(
    ask: Ask, outputs: Mapping[K, Sequence[Statement]], sources: Mapping[K, Sequence[str]]
) -> tuple[dict[K, list[Judged]], Failures]:
    """Judge each statement in one call (Section 3.5): whether C => s, and which citations support it."""
    calls = {}
    for key, statements in outputs.items():
        for at, statement in enumerate(statements):
            cited = [(number, sources[key][number]) for number in statement.citations if number < len(sources[key])]
            if cited:
                fields = {"statement": statement.text, "cited": cited, "comparison": COMPARISON}
                messages, context = render(__package__, "citations", **fields), {"cited": statement.citations}
                calls[key, at] = Call(f"{key}/citation/{at}", messages, reply=CitationVerdict, context=context)
    verdicts, failed = await ask_all(ask, calls, CitationVerdict, "citations")
    unanswered = {key for key, _ in calls} - {key for key, _ in verdicts}

    def judged(key: K, at: int, statement: Statement) -> Judged:
        if key in unanswered or ((key, at) in calls and (key, at) not in verdicts):
            return None, [None] * len(statement.citations)
        verdict = verdicts.get((key, at))
        supported = verdict is not None and verdict.entailed == 1
        return supported, [
            supported and verdict is not None and number in verdict.supporting for number in statement.citations
        ]

    found = {key: [judged(key, at, one) for at, one in enumerate(given)] for key, given in outputs.items()}
    lost = [key for key in calls if key not in verdicts]
    return found, [(key, str(row["reason"]), row["detail"]) for (key, _), row in zip(lost, failed, strict=True)]
