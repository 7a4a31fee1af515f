"""Evaluators of entailment: whether a premise fully entails each of several claims (DocLens, Section 3.5).

There are three: an instruction-following model with one of the paper's four prompt styles, one that grades or one that
reads as a clinician; a natural language inference model; and the simulator's rules. Each returns one judgement per
claim; a failed judgement is None and has a reason.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

from pydantic import Field, ValidationInfo, model_validator

from schemas.errors import ParamsError
from schemas.params.base import Device
from schemas.params.measures import DocLens
from schemas.tables.verdicts import Judgement
from tasks.llm.calls import Answer, Ask, Call, Reply
from tasks.llm.printed import in_users_form
from tasks.llm.prompts import render
from tasks.llm.requests import tokens_needed
from tasks.simulator.reader.entailment import entails
from tasks.text.sentences import COMPARISON

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

VERDICT_TOKENS = 60
"""Tokens to allow for one verdict with its explanation."""
Definitions = tuple[tuple[str, str], ...]
"""Names of symptoms, and what each covers."""
Style = Literal["plain", "json", "cot", "json_cot", "graded", "clinician"]
DEGREES = {"whole": 1.0, "part": 0.5, "none": 0.0}
"""How much of a claim is found, as a score: the degrees of style ``graded``, in which only the whole entails."""


@dataclass(frozen=True)
class Question:
    """A premise and the claims to judge against it. ``key`` identifies text and step in unscored rows.

    ``definitions``: what the names of symptoms in the claims cover, where these are a domain's names. ``heading``: of
    the part of a record that premise and claims stand in; only style ``graded`` shows it.
    """

    key: str
    premise: str
    claims: tuple[str, ...]
    definitions: Definitions = ()
    heading: str | None = None

    def parts(self, size: int) -> list["Question"]:
        """The question in parts of at most ``size`` claims; the keys of further parts are numbered."""
        return [
            replace(self, key=f"{self.key}/{at // size}" if at else self.key, claims=self.claims[at : at + size])
            for at in range(0, len(self.claims), size)
        ]


T = TypeVar("T", bound="DataclassInstance")
"""What is read of a reply: tuples with one entry a claim, ``failure`` and ``raw``."""


async def ask_in_parts(
    ask: Ask,
    questions: Sequence[Question],
    size: int,
    call: Callable[[Question], Call],
    read: Callable[[Question, Answer], T],
) -> list[T]:
    """Ask questions, each with a claim or more, in calls of at most ``size`` claims; one result a question, in order.

    The failures of a question's calls are named once each.
    """
    parts = [question.parts(size) for question in questions]
    answers = iter(await ask([call(part) for own in parts for part in own]))
    return [_joined([read(part, next(answers)) for part in own]) for own in parts]


def _joined(parts: Sequence[T]) -> T:
    values: dict[str, object] = {}
    for one in fields(parts[0]):
        found = [getattr(part, one.name) for part in parts]
        if isinstance(found[0], tuple):
            values[one.name] = tuple(chain.from_iterable(found))
        elif one.name in ("failure", "raw"):
            values[one.name] = "; ".join(dict.fromkeys(filter(None, found))) or None
    return replace(parts[0], **values)


@dataclass(frozen=True)
class Verdicts:
    """Judgements in the order of the question's claims, and the failure if some are None.

    ``reasons``: the judge's explanation of each judgement, None where it gives none.
    ``degrees``: how much of each claim is found (`DEGREES`), if the style grades.
    ``asked``: whether the judge was asked; a copy of the premise needs no judge.
    """

    key: str
    judgements: tuple[Judgement, ...]
    failure: str | None = None
    raw: str | None = None
    reasons: tuple[str | None, ...] = ()
    degrees: tuple[float | None, ...] = ()
    asked: bool = True


class Evaluator(Protocol):
    """Answers entailment questions in order."""

    label: str

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]: ...


class _NumberedVerdicts(Reply):
    """Base of verdicts on numbered claims; the context's ``claims`` is their number, ``texts`` has the claims."""

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Tables 13 and 15: ``[{"claim": text, "explanation": reason, "entailment prediction": 1 or 0}, ...]``."""
        entries = printed.get("verdicts") if isinstance(printed, dict) else printed
        if not isinstance(entries, list) or not all(isinstance(one, dict) and set(one) >= _PRINTED for one in entries):
            return None
        claims = [" ".join(text.split()) for text in context["texts"]]
        verdicts = []
        for one in entries:
            given = " ".join(str(one["claim"]).split())
            same = [n for n, claim in enumerate(claims, 1) if claim == given]
            same = same or [n for n, claim in enumerate(claims, 1) if _words(claim) == _words(given)]
            if len(same) != 1:
                raise ValueError(f"{given[:80]!r} is not one of the claims, word for word")
            reason = {} if cls is ClaimVerdicts else {"explanation": str(one.get("explanation") or "")}
            verdicts.append({"claim": same[0], **reason, "entailed": one[_PREDICTED]})
        return {"verdicts": verdicts}

    @model_validator(mode="after")
    def _are_on_the_claims(self, info: ValidationInfo) -> Self:
        given = [(verdict.claim, _degree(verdict)) for verdict in getattr(self, "verdicts", [])]
        if info.context and (problem := _problem(given, info.context["claims"])):
            raise ValueError(problem)
        return self


_PREDICTED = "entailment prediction"
_PRINTED = {"claim", _PREDICTED}


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _problem(given: Sequence[tuple[int, float]], claims: int) -> str | None:
    """Why verdicts (claim number, verdict) cannot be used; claims without a verdict are no reason."""
    for number, _ in given:
        if not 1 <= number <= claims:
            return f"claim {number} is not one of 1 to {claims}"
    distinct = Counter(number for number, _ in set(given))
    twice = [number for number, verdicts in distinct.items() if verdicts > 1]
    return f"claim {twice[0]} has two verdicts" if twice else None


class ClaimVerdict(Reply):
    """One claim's number, and 1 when the text fully entails it, else 0."""

    claim: int
    entailed: int = Field(ge=0, le=1)


class ClaimVerdicts(_NumberedVerdicts):
    """A verdict for every claim, in order."""

    verdicts: list[ClaimVerdict]


class ExplainedVerdict(Reply):
    """One claim's number, the reason for the verdict, and 1 when the text fully entails it, else 0."""

    claim: int
    explanation: str
    entailed: int = Field(ge=0, le=1)


class ExplainedVerdicts(_NumberedVerdicts):
    """A verdict with its reason for every claim, in order."""

    verdicts: list[ExplainedVerdict]


class GradedVerdict(Reply):
    """One claim's number, the reason for the verdict, and how much of the claim follows from the text."""

    claim: int
    explanation: str
    extent: Literal["whole", "part", "none"]


class GradedVerdicts(_NumberedVerdicts):
    """A verdict with its reason for every claim, in order."""

    verdicts: list[GradedVerdict]


def _degree(verdict: ClaimVerdict | ExplainedVerdict | GradedVerdict) -> float:
    return DEGREES[verdict.extent] if isinstance(verdict, GradedVerdict) else float(verdict.entailed)


_REPLIES: dict[str, type[Reply] | None] = {
    "plain": None,
    "cot": None,
    "json": ClaimVerdicts,
    "json_cot": ExplainedVerdicts,
    "graded": GradedVerdicts,
    "clinician": ExplainedVerdicts,
}
_LABEL = r"(?:(?:entailment|entailed|prediction|verdict|answer|label|is)\W++)"
_LINE_START = r"(?:\A\W*+|(?<=\w)[^\w\n]*+\n\W*+)"
_LINE_END = r"(?=\W*+\Z|[^\w\n]*+\n)"
"""Marks around a line's words. Each run of marks is read once, from the word before it, so that time stays linear."""
_LINE = re.compile(rf"{_LINE_START}(?:claim\W*+)?(\d++)\W++{_LABEL}{{0,9}}([01]){_LINE_END}", re.IGNORECASE)
"""A verdict on a line of its own: ``1: 1``, ``Claim 1: 0``, ``1. entailment prediction: 1``."""
_PREDICTION = re.compile(rf"{_LINE_START}(?:(?:claim\W*+)?1\W++)?{_LABEL}{{1,9}}([01]){_LINE_END}", re.IGNORECASE)
"""The verdict on the only claim of a call: ``entailment prediction: 1``."""
_EXPLANATION = re.compile(rf"{_LINE_START}(?:1\W++)?explanation(?=\W+(\S.*))", re.IGNORECASE)


def most_claims(style: Style, claims_a_call: int) -> int:
    """Claims that a call may hold: style ``cot`` judges one, as in Table 14."""
    return 1 if style == "cot" else claims_a_call


class InstructionEvaluator:
    """An instruction-following model with one of the paper's prompt styles and up to two in-context examples."""

    def __init__(self, ask: Ask, style: Style = "json_cot", examples: int = 2, claims_a_call: int = 20) -> None:
        self._ask, self.style, self.examples = ask, style, examples
        self.claims_a_call = most_claims(style, claims_a_call)
        self.label = f"{ask.label}, {style}"

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]:
        """Judge the claims of each question; without a call, an empty premise entails nothing and a copy itself.

        A claim that a question repeats, such as a statement with a single citation, is judged once.
        """
        distinct = [replace(question, claims=tuple(dict.fromkeys(question.claims))) for question in questions]
        found = {at: verdicts for at, question in enumerate(distinct) if (verdicts := self._without_call(question))}
        asked = [at for at in range(len(distinct)) if at not in found]
        chosen = [distinct[at] for at in asked]
        read = await ask_in_parts(self._ask, chosen, self.claims_a_call, self._call, self._read)
        found |= dict(zip(asked, read, strict=True))
        return [_repeated(found[at], question) for at, question in enumerate(questions)]

    def _without_call(self, question: Question) -> Verdicts | None:
        """The verdicts on a question that needs no judge."""
        copied = all(_plain(claim) == _plain(question.premise) for claim in question.claims)
        if question.claims and question.premise.strip() and not copied:
            return None
        judgements = (copied and bool(question.premise.strip()),) * len(question.claims)
        degrees = tuple(map(float, judgements)) if self.grades else ()
        return Verdicts(question.key, judgements, degrees=degrees, asked=False)

    @property
    def grades(self) -> bool:
        """Whether a claim may be found in part."""
        return self.style == "graded"

    def _call(self, question: Question) -> Call:
        prompt = f"entail_{self.style}"
        messages = render(
            __package__,
            prompt,
            premise=question.premise,
            claims=question.claims,
            definitions=question.definitions,
            heading=question.heading,
            examples=self.examples,
            comparison=COMPARISON,
        )
        context = {"claims": len(question.claims), "texts": question.claims}
        least = tokens_needed("".join(question.claims), times=2) + VERDICT_TOKENS * len(question.claims)
        call = Call(question.key, messages, reply=_REPLIES[self.style], context=context, least_tokens=least)
        return in_users_form(call, __package__, prompt)

    def _read(self, question: Question, answer: Answer) -> Verdicts:
        nothing: tuple[Judgement, ...] = (None,) * len(question.claims)
        unread = Verdicts(question.key, nothing, reasons=(None,) * len(nothing), degrees=nothing if self.grades else ())
        if answer.failure is not None:
            return replace(unread, failure=answer.failure, raw=answer.raw)
        given = self._given(answer)
        if problem := _problem(given, len(question.claims)):
            return replace(unread, failure=problem, raw=answer.text)
        verdicts = dict(given)
        degrees = tuple(verdicts.get(number) for number in range(1, len(question.claims) + 1))
        judgements = tuple(None if degree is None else degree == 1 for degree in degrees)
        missing = sum(one is None for one in judgements)
        failure = f"{missing} of {len(judgements)} claims without a verdict" if missing else None
        raw = answer.text if missing else None
        reasons = _reasons(answer, len(judgements))
        return Verdicts(question.key, judgements, failure, raw, reasons, degrees if self.grades else ())

    def _given(self, answer: Answer) -> list[tuple[int, float]]:
        """The verdicts of a reply: (claim number, degree)."""
        if isinstance(answer.value, ClaimVerdicts | ExplainedVerdicts | GradedVerdicts):
            return [(verdict.claim, _degree(verdict)) for verdict in answer.value.verdicts]
        if self.style == "cot":
            return [(1, float(value)) for value in _PREDICTION.findall(answer.text or "")]
        return [(int(number), float(value)) for number, value in _LINE.findall(answer.text or "")]


def _repeated(verdicts: Verdicts, question: Question) -> Verdicts:
    """Verdicts on distinct claims, given to each claim of the question."""
    place = {claim: at for at, claim in enumerate(dict.fromkeys(question.claims))}
    judgements = tuple(verdicts.judgements[place[claim]] for claim in question.claims)
    reasons = tuple(verdicts.reasons[place[claim]] for claim in question.claims) if verdicts.reasons else ()
    degrees = tuple(verdicts.degrees[place[claim]] for claim in question.claims) if verdicts.degrees else ()
    return replace(verdicts, judgements=judgements, reasons=reasons, degrees=degrees)


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def _reasons(answer: Answer, claims: int) -> tuple[str | None, ...]:
    """The explanation of each claim's verdict, None where the reply has none."""
    if isinstance(answer.value, ExplainedVerdicts | GradedVerdicts):
        said = {verdict.claim: verdict.explanation.strip() for verdict in answer.value.verdicts}
    else:
        said = dict(enumerate(map(str.rstrip, _EXPLANATION.findall(answer.text or "")), 1))
    return tuple(said.get(number) or None for number in range(1, claims + 1))


class PairModel(Protocol):
    """A natural language inference model, which judges premise-hypothesis pairs (`tasks.encoder.nli`)."""

    label: str

    def entail(self, pairs: Sequence[tuple[str, str]]) -> list[bool]: ...


class NliEvaluator:
    """A natural language inference model applied to single premise-hypothesis pairs: phi(p, h) of Section 3.5."""

    def __init__(self, model: PairModel) -> None:
        self._model, self.label = model, model.label

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]:
        """Judge all pairs of all questions in the model's batches."""
        pairs = [(q.premise, claim) for q in questions if q.premise.strip() for claim in q.claims]
        values = iter(self._model.entail(pairs))
        return [
            Verdicts(q.key, tuple(next(values) if q.premise.strip() else False for _ in q.claims)) for q in questions
        ]


class SimulatorEvaluator:
    """The simulator's entailment rules, called without an endpoint."""

    label = "vignette entailment rules"

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]:
        """Judge each claim separately against its premise."""
        return [Verdicts(q.key, tuple(entails(q.premise, claim) for claim in q.claims)) for q in questions]


def make_evaluator(params: DocLens, ask: Ask) -> Evaluator:
    """Build the evaluator named by ``params``; ``ask`` is the judge's client.

    Raises ParamsError for an NLI evaluator without a model.
    """
    if params.evaluator == "instruction":
        return InstructionEvaluator(ask, params.style, params.examples, params.claims_a_call)
    if params.evaluator == "simulator":
        return SimulatorEvaluator()
    if params.nli_model is None:
        raise ParamsError("doclens.nli_model is null; name a model or folder, or set doclens.evaluator to instruction")
    return NliEvaluator(_nli(params.nli_model, params.nli_batch, params.nli_device))


def other_evaluators(params: DocLens, nli_models: Sequence[str], *, rules: bool) -> list[Evaluator]:
    """The evaluators that judge in addition to that of ``params``: the rules if ``rules``, and NLI models by name."""
    found: list[Evaluator] = [SimulatorEvaluator()] if rules else []
    own = params.nli_model if params.evaluator == "nli" else None
    return found + [NliEvaluator(_nli(name, params.nli_batch, params.nli_device)) for name in nli_models if name != own]


@lru_cache(maxsize=4)
def _nli(name: str, batch: int, device: Device):  # type: ignore[no-untyped-def]
    from tasks.encoder.nli import load_nli  # torch and transformers are imported only if needed

    return load_nli(name, batch=batch, device=device)


def condition(params: DocLens) -> str:
    """The evaluator's name in the condition column."""
    if params.evaluator == "instruction":
        return params.style
    return params.nli_model or "nli" if params.evaluator == "nli" else "simulator's rules"


def citation_condition(params: DocLens) -> str:
    """The citation evaluator's name in the condition column."""
    return f"{condition(params)}, one call" if params.citations == "one_call" else condition(params)
