"""Evaluators of entailment: does this premise fully entail these claims? (DocLens, Section 3.5).

Three kinds answer the same question: an instruction-following model in one of four prompt styles, a natural language
inference model, and the rules that ship. Each returns a judgement a claim; one that failed is None with its reason.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import Field

from tasks.evaluation.doclens.claim_score import Judgement
from tasks.llm.calls import Answer, Ask, Call, Message, Reply
from tasks.llm.prompts import render
from tasks.simulator.judge.entailment import entails

Style = Literal["plain", "json", "cot", "json_cot"]


@dataclass(frozen=True)
class Question:
    """Which of ``claims`` does ``premise`` entail? ``key`` names text and step in unscored rows."""

    key: str
    premise: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Verdicts:
    """Judgements in the order of the question's claims, and why some are None."""

    key: str
    judgements: tuple[Judgement, ...]
    failure: str | None = None
    raw: str | None = None


class Evaluator(Protocol):
    """Answers entailment questions in order."""

    label: str

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]: ...


class ClaimVerdict(Reply):
    """One claim's number, and 1 when the text fully entails it, else 0."""

    claim: int
    entailed: int = Field(ge=0, le=1)


class ClaimVerdicts(Reply):
    """A verdict for every claim, in order."""

    verdicts: list[ClaimVerdict]


class ExplainedVerdict(Reply):
    """One claim's number, the reason for the verdict, and 1 when the text fully entails it, else 0."""

    claim: int
    explanation: str
    entailed: int = Field(ge=0, le=1)


class ExplainedVerdicts(Reply):
    """A verdict with its reason for every claim, in order."""

    verdicts: list[ExplainedVerdict]


_REPLIES: dict[str, type[Reply] | None] = {
    "plain": None,
    "cot": None,
    "json": ClaimVerdicts,
    "json_cot": ExplainedVerdicts,
}
_LINE = re.compile(r"^\W*(\d+)\W+(?:prediction\W+)?([01])\s*\W*$", re.IGNORECASE | re.MULTILINE)


class InstructionEvaluator:
    """An instruction-following model asked in one of the paper's prompt styles, with two in-context examples."""

    def __init__(self, ask: Ask, style: Style = "json_cot", examples: int = 2) -> None:
        self._ask, self.style, self.examples = ask, style, examples
        self.label = f"{ask.label}, {style}"

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]:
        """One call a question; premises without text are answered without a call: they entail nothing."""
        asked = [at for at, question in enumerate(questions) if question.claims and question.premise.strip()]
        answers = await self._ask([self._call(questions[at]) for at in asked])
        found = {at: self._read(questions[at], answer) for at, answer in zip(asked, answers, strict=True)}
        return [found.get(at) or Verdicts(q.key, (False,) * len(q.claims)) for at, q in enumerate(questions)]

    def _call(self, question: Question) -> Call:
        messages: tuple[Message, ...] = render(
            "tasks.evaluation.doclens",
            f"entail_{self.style}",
            premise=question.premise,
            claims=question.claims,
            examples=self.examples,
        )
        return Call(question.key, messages, reply=_REPLIES[self.style])

    def _read(self, question: Question, answer: Answer) -> Verdicts:
        nothing: tuple[Judgement, ...] = (None,) * len(question.claims)
        if answer.failure is not None:
            return Verdicts(question.key, nothing, answer.failure, answer.raw)
        given = _given(answer)
        judgements = tuple(given.get(number) for number in range(1, len(question.claims) + 1))
        missing = sum(one is None for one in judgements)
        failure = f"{missing} of {len(judgements)} claims without a verdict" if missing else None
        return Verdicts(question.key, judgements, failure, answer.text if missing else None)


def _given(answer: Answer) -> dict[int, bool]:
    if isinstance(answer.value, ClaimVerdicts | ExplainedVerdicts):
        return {verdict.claim: bool(verdict.entailed) for verdict in answer.value.verdicts}
    return {int(number): value == "1" for number, value in _LINE.findall(answer.text or "")}


class PairModel(Protocol):
    """A natural language inference model: which premise-hypothesis pairs are entailed (`tasks.encoder.nli`)."""

    label: str

    def entail(self, pairs: Sequence[tuple[str, str]]) -> list[bool]: ...


class NliEvaluator:
    """A natural language inference model, asked one premise and hypothesis at a time: phi(p, h) of Section 3.5."""

    def __init__(self, model: PairModel) -> None:
        self._model, self.label = model, model.label

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]:
        """All pairs of all questions, in the model's own batches."""
        pairs = [(q.premise, claim) for q in questions if q.premise.strip() for claim in q.claims]
        values = iter(self._model.entail(pairs))
        return [
            Verdicts(q.key, tuple(next(values) if q.premise.strip() else False for _ in q.claims)) for q in questions
        ]


class EmbeddedEvaluator:
    """The entailment rules that ship, called without an endpoint."""

    label = "vignette entailment rules"

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]:
        """Each claim by itself against its premise."""
        return [Verdicts(q.key, tuple(entails(q.premise, claim) for claim in q.claims)) for q in questions]
