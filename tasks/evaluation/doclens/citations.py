"""Parses outputs into statements with citations, and judges the citations (DocLens, Section 3.3)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field, ValidationInfo, field_validator

from tasks.evaluation.doclens.citation_score import CitedStatement
from tasks.evaluation.doclens.claim_score import Judgement
from tasks.evaluation.doclens.evaluators import Evaluator, Question
from tasks.llm.calls import Ask, Call, Message, Reply
from tasks.llm.prompts import render
from tasks.text import sections, soap
from tasks.text.comparison import COMPARISON
from tasks.text.sentences import sentences

_NUMBERS = r"\d+(?:\s*[,;–-]\s*\d+)*"
_CITATION = re.compile(rf"\[\s*({_NUMBERS})\s*\]")
"""``[1]``, ``[1, 2]``, ``[3-5]``."""
_GROUP = re.compile(rf"(?:\s*\[\s*{_NUMBERS}\s*\])+")
_AFTER = re.compile(r"\s*[.!?;]?(?=\s+[^\sa-z]|\s*$)")
"""What follows a citation that ends a statement: perhaps a full stop, then no lower case."""
_ABBREVIATIONS = frozenset(
    [
        *(
            "abd",
            "ant",
            "approx",
            "ca",
            "cerv",
            "dist",
            "esp",
            "excl",
            "ext",
            "incl",
            "inf",
            "int",
            "lat",
            "lumb",
            "mod",
        ),
        *("occ", "paravert", "perc", "post", "prev", "prox", "pt", "rad", "resp", "rot", "sens", "sev", "sl", "spin"),
        *("sup", "temp", "thor", "vert", "vs"),
    ]
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


def without_citations(output: str) -> str:
    """The output without citation marks; its claims are judged in this form."""
    return re.sub(rf"[ \t]*{_CITATION.pattern}", "", output)


def read_statements(output: str) -> list[Statement]:
    """Split a cited output into statements, in order: its sentences without headings.

    Citations follow the statement, before or after its full stop, and end it (``spin. proc. [15]. Flex ltd``). A
    sentence without citations takes those of the next cited sentence in the same line, as in the released script.
    """
    statements = []
    for line in output.split("\n"):
        found = [_statement(sentence) for sentence in _cited_sentences(line)]
        found = [statement for statement in found if re.search(r"\w", statement.text)]
        for at, statement in enumerate(found):
            following = next((other.citations for other in found[at:] if other.citations), ())
            statements.append(Statement(statement.text, statement.citations or following))
    return [statement for statement in statements if not _is_heading(statement)]


def _cited_sentences(line: str) -> Iterator[str]:
    """Sentences of a line with their marks; a mark belongs to the text before it."""
    start = 0
    for marks in _GROUP.finditer(line):
        if ends := _AFTER.match(line, marks.end()):
            *before, last = _whole_sentences(line[start : marks.start()]) or [""]
            yield from before
            stop = "" if last.endswith(".") else ends.group().strip()
            yield last + line[marks.start() : marks.end()] + stop
            start = ends.end()
    yield from _whole_sentences(line[start:])


def _whole_sentences(text: str) -> list[str]:
    """Sentences of ``text``; one that ends in an abbreviation goes on with the next."""
    found: list[str] = []
    for sentence in sentences(text):
        words = re.findall(r"\w+", found[-1].lower()) if found else []
        if words and found[-1].endswith(".") and words[-1] in _ABBREVIATIONS:
            found[-1] += f" {sentence}"
        else:
            found.append(sentence)
    return found


def _statement(sentence: str) -> Statement:
    numbers = dict.fromkeys(number for mark in _CITATION.findall(sentence) for number in _cited_numbers(mark))
    return Statement(" ".join(_GROUP.sub("", sentence).split()), tuple(numbers)[:MAX_CITATIONS])


def _cited_numbers(mark: str) -> Iterator[int]:
    """The numbers in a mark: ``1, 3-5`` gives 1, 3, 4 and 5."""
    for part in re.split(r"[,;]", mark):
        first, *rest = (int(number) for number in re.findall(r"\d+", part))
        last = rest[-1] if rest else first
        yield from range(first, last + 1) if first <= last else (first, last)


def _is_heading(statement: Statement) -> bool:
    text = statement.text.strip("*# ")
    if statement.citations:
        return False
    is_marked = statement.text.startswith("#") or re.fullmatch(r"\*\*[^*]+\*\*", statement.text) is not None
    return text.isupper() or text.endswith(":") or is_marked or sections.is_heading(text) or soap.is_heading(text)


async def judge_citations(
    evaluator: Evaluator, outputs: Mapping[str, Sequence[Statement]], sources: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[CitedStatement]], list[tuple[str, str, str | None]]]:
    """Judge citations by the definition: C => s, {c} => s and C without c => s, for each statement and citation.

    Statements of a text with the same cited sentences are judged in one call, each by itself. Returns statements by
    text key, and (key, reason, raw reply) of failed judgements. A citation of a sentence that
    does not exist supports nothing.
    """
    asked: dict[tuple[str, str], dict[str, str]] = {}  # statements by name, for each text and premise
    for key, statements in outputs.items():
        for at, statement in enumerate(statements):
            for part, numbers in _premises(statement).items():
                premise = _premise(numbers, sources[key])
                if premise:
                    asked.setdefault((key, premise), {})[f"{key}/citation/{at}/{part}"] = statement.text
    questions = [Question(next(iter(said)), premise, tuple(said.values())) for (_, premise), said in asked.items()]
    verdicts = await evaluator(questions)
    by_name: dict[str, Judgement] = {}
    for said, verdict in zip(asked.values(), verdicts, strict=True):
        by_name |= dict(zip(said, verdict.judgements, strict=True))

    def judged(name: str) -> Judgement:
        return by_name.get(name, False)

    found = {
        key: [_cited(statement, f"{key}/citation/{at}", judged) for at, statement in enumerate(statements)]
        for key, statements in outputs.items()
    }
    failures = [(v.key, v.failure, v.raw) for v in verdicts if v.failure is not None]
    return found, failures


def _premises(statement: Statement) -> dict[str, tuple[int, ...]]:
    every = statement.citations
    if not every:
        return {}
    parts = {"all": every}
    if len(every) > 1:
        parts |= {f"alone{number}": (number,) for number in every}
        parts |= {f"without{number}": tuple(other for other in every if other != number) for number in every}
    return parts


def _premise(numbers: Sequence[int], source: Sequence[str]) -> str:
    return "\n".join(source[number] for number in numbers if number < len(source))


def _cited(statement: Statement, name: str, judged: Callable[[str], Judgement]) -> CitedStatement:
    if not statement.citations:
        return CitedStatement(False)
    supported = judged(f"{name}/all")
    if len(statement.citations) == 1:  # {c} is C, and the rest is empty
        return CitedStatement(supported, (supported,), (False,))
    alone = tuple(judged(f"{name}/alone{number}") for number in statement.citations)
    without = tuple(judged(f"{name}/without{number}") for number in statement.citations)
    return CitedStatement(supported, alone, without)


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
    ask: Ask, outputs: Mapping[str, Sequence[Statement]], sources: Mapping[str, Sequence[str]]
) -> tuple[dict[str, list[tuple[Judgement, Statement, tuple[int, ...]]]], list[tuple[str, str, str | None]]]:
    """Judge each statement in one call (Section 3.5): whether C => s and which citations support it.

    Returns (supported, statement, supporting) by text key, and (key, reason, raw reply) of failed calls.
    """
    places = [
        (key, at, statement)
        for key, statements in outputs.items()
        for at, statement in enumerate(statements)
        if any(number < len(sources[key]) for number in statement.citations)
    ]
    calls = [
        Call(
            f"{key}/citation/{at}",
            _one_call(statement, sources[key]),
            reply=CitationVerdict,
            context={"cited": statement.citations},
        )
        for key, at, statement in places
    ]
    answers = await ask(calls)
    found: dict[tuple[str, int], tuple[Judgement, tuple[int, ...]]] = {}
    failures = []
    for (key, at, _), answer in zip(places, answers, strict=True):
        if isinstance(answer.value, CitationVerdict):
            found[key, at] = (answer.value.entailed == 1, tuple(answer.value.supporting))
        else:
            found[key, at] = (None, ())
            failures.append((answer.key, answer.failure or "no verdict in the reply", answer.raw))
    return {
        key: [
            (found.get((key, at), (False, ()))[0], statement, found.get((key, at), (False, ()))[1])
            for at, statement in enumerate(statements)
        ]
        for key, statements in outputs.items()
    }, failures


def _one_call(statement: Statement, source: Sequence[str]) -> tuple[Message, ...]:
    cited = [(number, source[number]) for number in statement.citations if number < len(source)]
    fields = {"statement": statement.text, "cited": cited, "comparison": COMPARISON}
    return render("tasks.evaluation.doclens", "citations", **fields)
