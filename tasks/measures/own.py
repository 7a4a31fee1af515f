"""Metrics of one's own: decorated functions in a file, scored, compared and shown like ours.

from vignette import metric

@metric("words")
def words(texts):
    return {text.id: len(text.output.split()) for text in texts}

The file is Python that is run on purpose, as the user's own. Data never name one.
"""

import importlib.util
import inspect
import math
import traceback
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from schemas.errors import SourceError, VignetteError
from schemas.tables.verdicts import LOST, verdict_table
from tasks.judges.cases import PLANTED
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Asks, Call, Message, unscored_row, unscored_table
from tasks.measures.measure import ENDINGS, Metric, Metrics
from tasks.statistics.intervals import Bounds
from tasks.statistics.metric_rows import Row, mean_row
from tasks.texts.document import WHOLE, Document, Tables

_MARK = "vignette_metric"


@dataclass(frozen=True)
class Text:
    """What a metric scores: the output of one system for one document."""

    id: str
    source: str
    reference: str | None
    output: str

    def case(self, kind: str, output: str, score: float) -> "KnownCase":
        """A case of a ``kind``: another output for the same text, whose score is known."""
        return KnownCase(replace(self, output=output), kind, score)


@dataclass(frozen=True)
class KnownCase:
    """A text with an output whose score is known."""

    text: Text
    kind: str
    score: float


Prompts = Callable[[Mapping[str, str]], Awaitable[dict[str, str | None]]]
"""Asks the judge: prompt by key -> reply by key, None where the call failed. Replies are kept and retried as ours."""


@dataclass(frozen=True)
class OwnMetric:
    """A decorated function: its scores by id, or an awaitable of them; ``asks``: it takes the judge as well.

    ``bounds``: smallest and largest possible score, None for any number. ``cases``: makes cases of texts, by a seed.
    """

    name: str
    score: Callable[..., Any]
    bounds: Bounds | None
    cases: Callable[[Sequence[Text], int], Iterable[KnownCase]] | None
    asks: bool
    file: Path


def metric(
    name: str,
    *,
    bounds: Bounds | None = None,
    cases: Callable[[Sequence[Text], int], Iterable[KnownCase]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as a metric: ``score(texts)`` or ``async score(texts, ask)`` returns a number by id.

    A document without a number, or with None, is unscored. ``bounds=(0, 1)`` gives a share its proper interval.
    ``cases(texts, seed)`` makes cases with a known score (`Text.case`) of a share, by which an evaluation with
    ``--planted`` measures the metric. Raises SourceError where it is used without the name, or cases are of no share.
    """
    if not isinstance(name, str):
        called = getattr(name, "__name__", repr(name))
        raise SourceError(f'@metric above {called} has no name; write @metric("{called}")')

    if cases is not None and bounds != (0, 1):
        raise SourceError(f"metric {name}: has cases, and bounds {bounds}; cases are of shares, with bounds=(0, 1)")

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(function, _MARK, {"name": name, "bounds": bounds, "cases": cases})
        return function

    return mark


def load_metrics(files: Sequence[Path], taken: Collection[str] = ()) -> list[OwnMetric]:
    """The metrics of all files, in order. Raises SourceError for a name of another one, or one that is ``taken``.

    A name may not end as those of figures that are made of a metric either.
    """
    found: dict[str, OwnMetric] = {}
    for one in (metric for file in files for metric in _load(file, file.read_bytes() if file.is_file() else None)):
        if one.name in found:
            raise SourceError(f"{one.file}: metric {one.name} is also in {found[one.name].file}; rename one")
        if one.name in taken:
            raise SourceError(f"{one.file}: metric {one.name} has the name of one that ships; rename it")
        if ending := next(filter(one.name.endswith, ENDINGS), ""):
            raise SourceError(f"{one.file}: metric {one.name} ends in {ending}, as figures made of a metric; rename it")
        found[one.name] = one
    return list(found.values())


@cache  # a user's file may do much when it is run: once, and again after an edit
def _load(file: Path, content: bytes | None) -> list[OwnMetric]:
    """The metrics of a file. Raises SourceError for a file that cannot be run or has none."""
    if content is None:
        raise SourceError(f"{file}: no such file; check the spelling and the working directory")
    spec = importlib.util.spec_from_file_location(f"own_metric_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise SourceError(f"{file}: not a Python file; expected one with functions decorated by vignette.metric")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SourceError as error:
        raise SourceError(f"{file}: {error}") from error
    except Exception as error:  # whatever the user's code raises
        raise SourceError(f"{_raised_at(file, error)}: cannot be run ({type(error).__name__}: {error})") from error
    found = []
    for function in (one for one in vars(module).values() if hasattr(one, _MARK)):
        takes = len(inspect.signature(function).parameters)
        if takes not in (1, 2):
            expected = "(texts), or (texts, ask) to ask the judge"
            raise SourceError(f"{file}: {function.__name__} takes {takes} parameters; expected {expected}")
        found.append(OwnMetric(score=function, asks=takes == 2, file=file, **getattr(function, _MARK)))
    if not found:
        raise SourceError(f"{file}: no metric; expected a function decorated by @vignette.metric(NAME)")
    return found


def _raised_at(file: Path, error: Exception) -> str:
    """The user's file, with the line of it that raised the error or called what did."""
    own = str(file.absolute())
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == own]
    return f"{file}: line {lines[-1]}" if lines else str(file)


ABOVE_KNOWN = "above_known_score"
"""How much higher a metric scores cases than their known scores."""
UNDEFINED = "the metric gave no number"
"""Reason of a text for which a metric that computes is not defined; nothing failed there."""


@dataclass(frozen=True)
class Own:
    """The measure: outputs of ``systems``, which every document should have, scored by each of the functions.

    A document without a number or an output has a failed verdict, and in the first case an unscored row. ``name`` and
    ``condition`` are those of rows; the name begins the keys of calls.
    """

    functions: Sequence[OwnMetric]
    systems: Sequence[str]
    name: str = "own"
    condition: str = "own"

    @property
    def metrics(self) -> Metrics:
        """Means within the bounds of each function; a document without a number is one where it is not defined."""
        return {one.name: Metric(bounds=one.bounds, pooled=False, ranged=False) for one in self.functions}

    def made_by(self, ask: Asks) -> str:
        """What made the scores: the files, and the judge if any asks it."""
        files = ", ".join(dict.fromkeys(one.file.name for one in self.functions))
        return f"{files}; {ask('judge').label}" if any(one.asks for one in self.functions) else files

    async def judge(self, ask: Asks, documents: Sequence[Document]) -> Tables:
        """Score all: the tables verdicts and unscored. Raises SourceError for a function that fails as a whole."""
        rows, unscored = [], []
        for one in self.functions:
            for system in self.systems:
                having = [document for document in documents if system in document.outputs]
                texts = [Text(each.id, each.text, each.reference, each.outputs[system]) for each in having]
                values, failed = await _scored(one, system, texts, ask, self.name)
                unscored += [unscored_row(name, f"{one.name} of {system}", reason) for name, reason in failed.items()]
                about = {"system": system, "condition": self.condition, "item": WHOLE, "metric": one.name, "text": ""}
                rows += [
                    {**about, "document": each.id, "unit": "0" if system in each.outputs else LOST}
                    | {"value": values.get(each.id)}
                    for each in documents
                ]
        return {"verdicts": verdict_table(rows, judge=self.made_by(ask)), "unscored": unscored_table(unscored)}

    async def judge_cases(self, ask: Asks, documents: Sequence[Document], seed: int) -> tuple[pd.DataFrame, Unscored]:
        """VERDICTS on the cases of the functions, made of the references; the truth is the known score."""
        rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
        texts = [Text(one.id, one.text, one.reference, one.reference or one.text) for one in documents]
        for one in (each for each in self.functions if each.cases is not None):
            for kind, known in _known(one, texts, seed).items():
                own = [case.text for case in known.values()]
                values, failed = await _scored(one, f"cases: {kind}", own, ask, self.name)
                unscored += [unscored_row(name, f"{one.name} of cases", reason) for name, reason in failed.items()]
                about = {"system": PLANTED, "condition": PLANTED, "item": WHOLE, "metric": one.name, "unit": kind}
                rows += [
                    {**about, "document": name, "text": case.text.output, "kind": kind}
                    | {"value": values.get(name), "truth": case.score}
                    for name, case in known.items()
                ]
        return verdict_table(rows, judge=self.made_by(ask)), unscored


def known_rows(verdicts: pd.DataFrame) -> list[Row]:
    """METRICS rows of VERDICTS on cases with a known score: how much higher the score is, by metric and kind."""
    rows = list[Row]()
    for name, every in verdicts.groupby("metric", sort=True):
        for kind, own in ((WHOLE, every), *every.groupby("kind", sort=True)):
            known = own.dropna(subset="value")
            about: Row = {"condition": name, "item": kind, "unscored": len(own) - len(known)}
            difference = known["value"] - known["truth"]
            rows.append(mean_row(ABOVE_KNOWN, difference, bounds=(-1, 1), clusters=known["document"], **about))
    return rows


def _known(one: OwnMetric, texts: Sequence[Text], seed: int) -> dict[str, dict[str, KnownCase]]:
    """The cases of a function by kind and document. Raises SourceError for what are none."""
    found: dict[str, dict[str, KnownCase]] = {}
    try:
        made = list(one.cases(texts, seed)) if one.cases is not None else []
    except Exception as error:  # whatever the user's code raises
        at = _raised_at(one.file, error)
        raise SourceError(f"{at}: cases of {one.name} failed ({type(error).__name__}: {error})") from error
    for case in made:
        if not isinstance(case, KnownCase) or not 0 <= case.score <= 1:
            raise SourceError(
                f"{one.file}: cases of {one.name}: found {case!r:.80}; expected text.case(kind, output, share)"
            )
        if found.setdefault(case.kind, {}).setdefault(case.text.id, case) is not case:
            raise SourceError(
                f"{one.file}: cases of {one.name}: two of kind {case.kind} of {case.text.id}; name another kind"
            )
    return found


async def _scored(
    one: OwnMetric, system: str, texts: Sequence[Text], ask: Asks, stage: str
) -> tuple[dict[str, float], dict[str, str]]:
    """Scores by document, and reasons of the documents without one.

    Raises SourceError if the function fails, or returns something else than numbers within its bounds by id.
    """

    async def judge(prompts: Mapping[str, str]) -> dict[str, str | None]:
        keys = [f"{stage}/{one.name}/{system}/{key}" for key in prompts]
        calls = [Call(key, (Message("user", text),)) for key, text in zip(keys, prompts.values(), strict=True)]
        return {key: answer.text for key, answer in zip(prompts, await ask("judge")(calls), strict=True)}

    try:
        given = one.score(texts, judge) if one.asks else one.score(texts)
        if inspect.isawaitable(given):
            given = await given
    except VignetteError:
        raise  # of the judge: a budget, a key
    except Exception as error:
        raise SourceError(
            f"{_raised_at(one.file, error)}: metric {one.name} failed on the outputs of {system} "
            f"({type(error).__name__}: {error}); leave out a document that cannot be scored, and it is unscored"
        ) from error
    if not isinstance(given, Mapping):
        raise SourceError(
            f"{one.file}: metric {one.name} returned {type(given).__name__}; expected a dict with a number by id"
        )
    known = {text.id for text in texts}
    if unknown := [str(name) for name in given if name not in known]:
        raise SourceError(
            f"{one.file}: metric {one.name} scored {unknown[0]!r}, which is no document of {system}; "
            "return the ids of the texts"
        )
    values = {text.id: _number(one, system, text.id, given.get(text.id)) for text in texts}
    reason = "the metric made no number of the judge's replies" if one.asks else UNDEFINED
    lacking = {name: reason for name, value in values.items() if value is None}
    return {name: value for name, value in values.items() if value is not None}, lacking


def _number(one: OwnMetric, system: str, document: str, value: Any) -> float | None:
    """A score as a number; None for one that is not defined. Raises SourceError for anything else."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    try:
        number = math.inf if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.inf
    low, high = one.bounds or (-math.inf, math.inf)
    if not (math.isfinite(number) and low <= number <= high):
        expected = "a number" if one.bounds is None else f"a number from {low:g} to {high:g}"
        raise SourceError(
            f"{one.file}: metric {one.name}, document {document}, {system}: found {value!r}, expected {expected}"
        )
    return number
