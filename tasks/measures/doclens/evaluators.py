"""Evaluators of entailment: whether a premise fully entails each of several claims (DocLens, Section 3.5).

There are three: an instruction-following model with one of the paper's four prompt styles, one that grades or one that
reads as a clinician; a natural language inference model; and the simulator's rules. Each returns one judgement per
claim; a failed judgement is None and has a reason.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from pydantic import Field, ValidationInfo, model_validator

from schemas.errors import ParamsError, repeated
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
    from tasks.encoder.nli import NliModel

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


Unit = tuple[Judgement, str | None, str | None]
"""Of a claim: whether it is entailed, the judge's reason, and its word where that says more than yes or no."""
UNKNOWN: Unit = (None, None, None)


@dataclass(frozen=True)
class Verdicts:
    """The units of a question's claims in their order, and the failure if some are not judged.

    ``asked``: whether the judge was asked; a copy of the premise needs no judge.
    """

    units: tuple[Unit, ...]
    failure: str | None = None
    raw: str | None = None
    asked: bool = True

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """Whether each claim is entailed."""
        return tuple(judged for judged, *_ in self.units)


async def ask_in_parts(
    ask: Ask,
    questions: Sequence[Question],
    size: int,
    call: Callable[[Question], Call],
    read: Callable[[Question, Answer], Verdicts],
) -> list[Verdicts]:
    """Ask questions in calls of at most ``size`` claims: one result a question, which names each failure once."""
    parts = [question.parts(size) for question in questions]
    answers = iter(await ask([call(part) for own in parts for part in own]))
    found = []
    for own in parts:
        made = [read(part, next(answers)) for part in own]
        said = [dict.fromkeys(filter(None, given)) for given in ([m.failure for m in made], [m.raw for m in made])]
        failure, raw = ("; ".join(one) or None for one in said)
        found.append(Verdicts(tuple(unit for one in made for unit in one.units), failure, raw))
    return found


class Evaluator(Protocol):
    """Answers entailment questions in order."""

    label: str

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]: ...


class NumberedVerdicts(Reply):
    """Base of verdicts on numbered claims; the context's ``claims`` is their number, ``texts`` has the claims."""

    verdicts: list[Any]

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
        given = [(verdict.claim, _judged(verdict)) for verdict in self.verdicts]
        if info.context and (problem := _problem(given, info.context["claims"])):
            raise ValueError(problem)
        return self


_PREDICTED = "entailment prediction"
_PRINTED = {"claim", _PREDICTED}


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _problem(given: Sequence[tuple[int, Any]], claims: int) -> str | None:
    """Why verdicts (claim number, verdict) cannot be used; claims without a verdict are no reason."""
    for number, _ in given:
        if not 1 <= number <= claims:
            return f"claim {number} is not one of 1 to {claims}"
    twice = repeated(number for number, _ in dict.fromkeys(given))
    return None if twice is None else f"claim {twice} has two verdicts"


class ClaimVerdict(Reply):
    """One claim's number, and 1 when the text fully entails it, else 0."""

    claim: int
    entailed: int = Field(ge=0, le=1)


class ClaimVerdicts(NumberedVerdicts):
    """A verdict for every claim, in order."""

    verdicts: list[ClaimVerdict]


class ExplainedVerdict(Reply):
    """One claim's number, the reason for the verdict, and 1 when the text fully entails it, else 0."""

    claim: int
    explanation: str
    entailed: int = Field(ge=0, le=1)


class ExplainedVerdicts(NumberedVerdicts):
    """A verdict with its reason for every claim, in order."""

    verdicts: list[ExplainedVerdict]


class GradedVerdict(Reply):
    """One claim's number, the reason for the verdict, and how much of the claim follows from the text."""

    claim: int
    explanation: str
    extent: Literal["whole", "part", "none"]


class GradedVerdicts(NumberedVerdicts):
    """A verdict with its reason for every claim, in order."""

    verdicts: list[GradedVerdict]


def _judged(verdict: Any) -> tuple[bool, str | None]:
    """Whether a claim is entailed by a verdict on it, and the word of one that says more: its extent or verdict."""
    word = getattr(verdict, "extent", None) or getattr(verdict, "verdict", None)
    return (verdict.entailed == 1 if word is None else word in ("whole", "supported")), word


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
_LINE = re.compile(
    rf"{_LINE_START}(?:claim\W*+)?(\d++)(?!\.\d)(?:\W++{_LABEL}{{1,9}}|[^\w\n]++)([01]){_LINE_END}", re.IGNORECASE
)
"""A verdict on a line of its own: ``1: 1``, ``Claim 1: 0``, ``1. entailment prediction: 1``; not ``1``, then ``0``."""
_PREDICTION = re.compile(rf"{_LINE_START}(?:(?:claim\W*+)?(1)\W++)?{_LABEL}{{1,9}}([01]){_LINE_END}", re.IGNORECASE)
"""The verdict on the only claim of a call: ``entailment prediction: 1``."""
_EXPLANATION = re.compile(rf"{_LINE_START}(?:1\W++)?explanation(?=\W+(\S.*))", re.IGNORECASE)


def most_claims(style: Style, claims_a_call: int) -> int:
    """Claims that a call may hold: style ``cot`` judges one, as in Table 14."""
    return 1 if style == "cot" else claims_a_call


def read_verdicts(question: Question, answer: Answer, in_text: re.Pattern[str] = _LINE) -> Verdicts:
    """The verdicts of a reply; ``in_text`` finds the claim's number and the verdict in one of plain text."""
    size, text = len(question.claims), answer.text or ""
    if isinstance(answer.value, NumberedVerdicts):
        listed = answer.value.verdicts
        given = [(one.claim, _judged(one)) for one in listed]
        reasons = {one.claim: getattr(one, "explanation", "").strip() for one in listed}
    else:
        given = [(int(number or 1), (value == "1", None)) for number, value in in_text.findall(text)]
        reasons = dict(enumerate(map(str.rstrip, _EXPLANATION.findall(text)), 1))
    if failure := answer.failure or _problem(given, size):
        return Verdicts((UNKNOWN,) * size, failure, answer.raw if answer.failure else answer.text)
    known = dict(given)
    if missing := size - len(known):
        failure = f"{missing} of {size} claims without a verdict"
    numbered = [(number, *known.get(number, (None, None))) for number in range(1, size + 1)]
    units = tuple((judged, reasons.get(number) or None, word) for number, judged, word in numbered)
    return Verdicts(units, failure, answer.text if missing else None)


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
        read = partial(read_verdicts, in_text=_PREDICTION if self.style == "cot" else _LINE)
        given = await ask_in_parts(self._ask, [distinct[at] for at in asked], self.claims_a_call, self._call, read)
        found |= dict(zip(asked, given, strict=True))
        known = [dict(zip(one.claims, found[at].units, strict=True)) for at, one in enumerate(distinct)]
        return [
            replace(found[at], units=tuple(known[at][claim] for claim in one.claims))
            for at, one in enumerate(questions)
        ]

    def _without_call(self, question: Question) -> Verdicts | None:
        """The verdicts on a question that needs no judge."""
        copied = all(_plain(claim) == _plain(question.premise) for claim in question.claims)
        if question.claims and question.premise.strip() and not copied:
            return None
        entailed = copied and bool(question.premise.strip())
        word = ("whole" if entailed else "none") if self.style == "graded" else None
        return Verdicts(((entailed, None, word),) * len(question.claims), asked=False)

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
        least = tokens_for_verdicts(question.claims)
        call = Call(question.key, messages, reply=_REPLIES[self.style], context=context, least_tokens=least)
        return in_users_form(call, __package__, prompt)


def tokens_for_verdicts(claims: Sequence[str]) -> int:
    """Tokens to allow for verdicts on claims with explanations."""
    return tokens_needed("".join(claims), times=2) + 60 * len(claims)


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def _simple(judgements: Iterable[bool]) -> Verdicts:
    return Verdicts(tuple((one, None, None) for one in judgements))


class NliEvaluator:
    """A natural language inference model applied to single premise-hypothesis pairs: phi(p, h) of Section 3.5."""

    def __init__(self, model: "NliModel") -> None:
        self._model, self.label = model, model.label

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]:
        """Judge all pairs of all questions in the model's batches."""
        pairs = [(q.premise, claim) for q in questions if q.premise.strip() for claim in q.claims]
        values = iter(self._model.entail(pairs))
        return [_simple([next(values) if q.premise.strip() else False for _ in q.claims]) for q in questions]


class SimulatorEvaluator:
    """The simulator's entailment rules, called without an endpoint."""

    label = "vignette entailment rules"

    async def __call__(self, questions: Sequence[Question]) -> list[Verdicts]:
        """Judge each claim separately against its premise."""
        return [_simple([entails(q.premise, claim) for claim in q.claims]) for q in questions]


def make_evaluator(params: DocLens, ask: Ask) -> Evaluator:
    """Build the evaluator named by ``params``. Raises ParamsError for an NLI evaluator without a model."""
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
def _nli(name: str, batch: int, device: Device) -> "NliModel":
    from tasks.encoder.nli import load_nli  # torch and transformers are imported only if needed

    return load_nli(name, batch=batch, device=device)


def condition(params: DocLens) -> str:
    """The evaluator's name in the condition column."""
    if params.evaluator == "instruction":
        return params.style
    return params.nli_model or "nli" if params.evaluator == "nli" else "simulator's rules"


def provenance(params: DocLens, roles: str) -> str:
    """The models of ``roles``, and the evaluator where it judges claims and citations instead of the judge."""
    return roles if params.evaluator == "instruction" else f"{roles}; claims and citations: {condition(params)}"
