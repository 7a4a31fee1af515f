"""Estimates the calls, tokens and dollars of stages and evaluations before anything is paid.

A stage that ran before is counted from its requests in the response store, in proportion to the params on which the
number of its calls depends; the first stages are also estimated from their prompt files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from flows.repository.kept_runs import used_keys
from flows.repository.lock import read_lock
from flows.repository.params import confirmation_limit, response_store
from flows.repository.pipeline import model_stages, stage_files
from flows.repository.terminal import aligned
from schemas.errors import BudgetError
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.costs import Estimate, template_tokens
from tasks.tracking.lineage import read_lineage
from tasks.transport.inspection import rehearsed
from tasks.transport.probing import PROBE_CALLS

PLANTED_CALLS = 19
"""Calls to the judge per planted question and take."""

Sizes = dict[RoleName, float]


def _note_qa(params: Params) -> Sizes:
    qa = params.note_qa
    patients = sum(qa.patients_by_notes)
    answers = patients * (qa.truth_questions + qa.generated_questions) * len(qa.versions)
    return {
        "annotator": patients * qa.generated_questions,
        "answerer": answers * (1 + qa.free_text),
        "judge": (answers * qa.free_text + PLANTED_CALLS * qa.planted_questions) * qa.judge_takes,
    }


SIZES: dict[str, Callable[[Params], Sizes]] = {
    "write": lambda params: {"writer": params.sample.records},
    "filter": lambda params: {"annotator": params.sample.records, "writer": params.sample.records},
    "compact": lambda params: {"writer": params.sample.records},
    "span": lambda params: {"annotator": params.sample.records},
    "note_qa": _note_qa,
    "review": lambda params: {"judge": (params.review.with_symptoms + params.review.without_symptoms)},
    "planted_errors": lambda params: {
        "annotator": 17 * params.planted_errors.each + 5 * params.planted_errors.assertions
    },
}
"""Numbers to which the calls of a stage to each role are proportional, by stage; of others `_sizes`."""


def _sizes(stage: str, params: Params) -> Sizes | None:
    """The numbers of a stage; None where they are not known. A stage whose params have ``notes`` asks about these."""
    if stage in SIZES:
        return SIZES[stage](params)
    notes = getattr(getattr(params, stage, None), "notes", None)
    return None if notes is None else {role: min(notes, params.sample.records) for role in ("judge", "writer")}


def most_calls(stage: str, role: RoleName, calls: int, params: Params) -> int:
    """The most calls where ``calls`` are expected: each reply is asked for again, and each note rewritten, as often as
    params allow."""
    attempts = {
        ("write", "writer"): params.write.max_tries,
        ("filter", "annotator"): params.filter.max_attempts,
        ("span", "annotator"): 1 + params.span.max_corrections,
    }.get((stage, role), 1)
    if (stage, role) == ("filter", "writer"):
        calls, attempts = params.sample.records, (params.filter.max_attempts - 1) * params.write.max_tries
    return calls * attempts * (1 + params.roles[role].reasks)


def fewest_calls(stage: str, role: RoleName, calls: int, params: Params) -> int:
    """The fewest calls where ``calls`` are expected: no note is rewritten and no span corrected."""
    records = params.sample.records
    fewest = {
        ("filter", "annotator"): records,
        ("filter", "writer"): 0,
        ("span", "annotator"): 3 * records,  # extraction, mapping to the compact note, check of the mapping
    }
    return min(calls, fewest.get((stage, role), calls))


NOTE_TOKENS = 240
"""Mean of 50 published SimSUM notes, at four characters per token."""

COMPACT_TOKENS = 125
"""Mean of the same 50 notes' compact versions."""

REWRITTEN = 0.01
"""Share of notes that the consistency filter has rewritten (52 of 10,000 in SimSUM, more with weaker writers)."""


Bound = Literal["calls", "least", "most"]


@dataclass(frozen=True)
class Line:
    """One stage's use of one role.

    ``how`` is counted (at these params), scaled (counted at other params) or from prompts. ``least`` and
    ``most``: calls if every reply can be used at once, and if each is asked for again as often as params allow.
    """

    stage: str
    estimate: Estimate
    dollars: float | None
    how: str
    least: int
    most: int
    model: str
    is_simulator: bool

    def dollars_of(self, bound: Bound) -> float:
        """Dollars of the expected, the fewest or the most calls; 0 without a price."""
        calls = {"calls": self.estimate.calls, "least": self.least, "most": self.most}[bound]
        return (self.dollars or 0.0) * calls / max(self.estimate.calls, 1)


def priced(params: Params, stage: str, estimate: Estimate, how: str) -> Line:
    """The line of an estimate, with its cost by the role's model and the bounds of its calls."""
    role = params.roles[estimate.role]
    dollars = 0.0 if role.is_simulator else estimate.dollars(params.prices.get(role.model))
    least, most = (bound(stage, estimate.role, estimate.calls, params) for bound in (fewest_calls, most_calls))
    return Line(stage, estimate, dollars, how, least, most, role.model, role.is_simulator)


def total(lines: Sequence[Line], bound: Bound = "calls") -> float:
    """Dollars of all lines that have a price."""
    return sum(line.dollars_of(bound) for line in lines)


def unpriced(lines: Sequence[Line]) -> list[str]:
    """The models without a price in params.yaml."""
    return sorted({line.model for line in lines if line.dollars is None})


def require_affordable(
    params: Params, lines: Sequence[Line], what: str, confirm: str, *, spent: float = 0.0, unknown: Sequence[str] = ()
) -> None:
    """Raise BudgetError where ``spent`` and ``lines`` may exceed ``budget.confirm_above_dollars``, or lack a price.

    ``unknown``: what else has no known cost. ``confirm``: how the user confirms ``what``.
    """
    limit = confirmation_limit(params)
    dollars, least, most = (spent + total(lines, bound) for bound in ("calls", "least", "most"))
    without = [f"{model}, which has no price" for model in unpriced(lines)] + list(unknown)
    if limit is None or (dollars <= limit and not without):
        return
    paid = f", of which {spent:.2f} are spent" if spent else ""
    known = f"about {dollars:.2f} dollars (at least {least:.2f}, at most {most:.2f}{paid})"
    if without and dollars:
        known += f", without {'; '.join(without)}"
    elif without:
        known = f"an amount that is not known: {'; '.join(without)}"
    raise BudgetError(f"{what} would cost {known}. budget.confirm_above_dollars is {limit:g}: to run it, {confirm}")


_HEAD = ("stage", "role", "model", "calls", "at least", "at most", "tokens in", "out", "dollars", "at most", "how")
_NUMBERS = slice(3, 10)
"""Columns of numbers."""


def table(lines: Sequence[Line], width: int | None = None) -> str:
    """The estimates as a table, with their sums; two lines a stage where the table is wider than ``width`` columns."""
    rows: list[tuple[object, ...]] = [_HEAD]
    sums = [0] * 5
    for line in lines:
        one = line.estimate
        counts = (one.calls, line.least, line.most, one.prompt_tokens, one.completion_tokens)
        sums = [so_far + count for so_far, count in zip(sums, counts, strict=True)]
        rows.append((line.stage, one.role, line.model, *counts, *_dollars([line]), line.how))
    rows.append(("all", "", "", *sums, *_dollars(lines), ""))
    texts = [[str(cell) for cell in row] for row in rows]
    wide = aligned(texts, range(*_NUMBERS.indices(len(_HEAD))))
    if width is None or max(map(len, wide)) <= width:
        return "\n".join(wide)
    heads = ["", *(", ".join(filter(None, row[:3])) + (f" ({row[-1]})" if row[-1] else "") for row in texts[1:])]
    numbers = [f"  {line}" for line in aligned([row[_NUMBERS] for row in texts], range(len(_HEAD)))]
    return "\n".join(line for pair in zip(heads, numbers, strict=True) for line in pair if line)


def remarks(lines: Sequence[Line], file: object = "the params file") -> list[str]:
    """What the table leaves out: prices that ``file`` lacks, and the calls that tell which models answer."""
    said = []
    if without := unpriced(lines):
        said.append(f"no sum in dollars: {file} has no price of {', '.join(without)}")
    if models := {line.model for line in lines if not line.is_simulator}:
        named = ", ".join(sorted(models))
        said.append(f"not counted: up to {PROBE_CALLS} short calls that identify the model, for each of {named}")
    return said


def _dollars(lines: Sequence[Line]) -> tuple[str, str]:
    """The expected and the highest sum; none where a line has no price."""
    if any(line.dollars is None for line in lines):
        return "no price", ""
    return f"{total(lines):.2f}", f"{total(lines, 'most'):.2f}"


def estimates(params: Params, pipeline: Path, records: int | None = None) -> tuple[list[Line], list[str]]:
    """The estimates of the stages that call a model, and the names of the stages that cannot be estimated.

    ``records`` replaces the number of records in params.yaml.
    """
    if records is not None:
        params = params.model_copy(update={"sample": params.sample.model_copy(update={"records": records})})
    ran = _keys_of_last_runs(pipeline)
    counted = rehearsed(response_store(params), {name: keys for name, keys in ran.items() if keys})
    elsewhere = {name for name, keys in ran.items() if keys is None}  # replies in the store are of other runs
    lines, unknown = [], []
    for stage in model_stages(pipeline):
        if stage == OWN_METRICS and not _own_metrics_ask(pipeline):
            continue
        then = None if stage in elsewhere else params_of_last_run(stage, pipeline, params)
        if stage in counted and then is not None and (before := _sizes(stage, then)) is not None:
            found, how = _scaled(counted[stage], before, _sizes(stage, params) or before)
        elif stage in RECKONED:
            found, how = _reckoned(stage, params.sample.records), "from prompts"
        elif stage in counted and stage not in elsewhere:
            found, how = counted[stage], "counted at other params"
        else:
            unknown.append(stage)
            continue
        lines += [priced(params, stage, estimate, how) for estimate in found]
    return lines, unknown


def _keys_of_last_runs(pipeline: Path) -> dict[str, set[bytes] | None]:
    """Keys of the replies behind the outputs in dvc.lock, by stage; None for one that ran in another clone."""
    return {stage.name: used_keys(stage) for stage in read_lineage(read_lock(pipeline.with_suffix(".lock"))).stages}


OWN_METRICS = "own_metrics"


def _own_metrics_ask(pipeline: Path) -> bool:
    """Whether a metric of the file of stage `OWN_METRICS` asks the judge."""
    from tasks.measures.own import load_metrics  # loads pandas

    file = pipeline.parent / stage_files(pipeline, OWN_METRICS).dep("metrics")
    return any(one.asks for one in load_metrics([file]))


def _scaled(counted: list[Estimate], before: Sizes, after: Sizes) -> tuple[list[Estimate], str]:
    """What was counted where the sizes were ``before``, in proportion to those ``after``."""
    if before == after:
        return counted, "counted"
    factors = {role: after[role] / before[role] for role in after if before[role]}
    return [estimate.times(factors.get(estimate.role, 1.0)) for estimate in counted], "scaled"


def params_of_last_run(stage: str, pipeline: Path, params: Params) -> Params | None:
    """The params with which dvc.lock says that a stage and stage `sample` ran; None when it says nothing."""
    stages = read_lock(pipeline.with_suffix(".lock")).get("stages", {})
    if stage not in stages:
        return None
    values = params.model_dump(mode="json")
    for name in ("sample", stage):
        recorded = stages.get(name, {}).get("params", {}).get("params.yaml", {})
        for key, value in recorded.items():
            *outer, last = key.split(".")
            place = values
            for part in outer:
                place = place[part]
            place[last] = value
    try:
        return Params.model_validate(values)
    except ValidationError:  # recorded by an earlier version
        return None


@dataclass(frozen=True)
class _Step:
    """Calls for each record: prompt files of a package, tokens of the texts that fill them, and of the reply."""

    role: RoleName
    calls: float
    package: str
    prompts: tuple[str, ...]
    filled: int
    reply: int


NOTE = ("note", "instructions")
MAPPED = NOTE_TOKENS + COMPACT_TOKENS + 150
RECKONED = {
    "write": [_Step("writer", 1.0, "tasks.notes", NOTE, 0, NOTE_TOKENS)],  # fewer calls with prompts for three notes
    "filter": [
        _Step("annotator", 1.0 + REWRITTEN, "tasks.notes", ("consistency", "instructions"), NOTE_TOKENS, 20),
        _Step("writer", REWRITTEN, "tasks.notes", NOTE, 0, NOTE_TOKENS),
    ],
    "compact": [_Step("writer", 1.0, "tasks.notes", (*NOTE, "compact"), NOTE_TOKENS, COMPACT_TOKENS)],
    "span": [
        _Step("annotator", 1.0, "tasks.spans", ("extract",), NOTE_TOKENS, 200),
        _Step("annotator", 1.0, "tasks.spans", ("map",), MAPPED, 200),
        _Step("annotator", 1.0, "tasks.spans", ("map", "same_meaning"), MAPPED + 250, 40),
        _Step("annotator", 0.2, "tasks.spans", ("correct",), NOTE_TOKENS + 60, 50),
        _Step("annotator", 1.0, "tasks.spans", ("assertion",), MAPPED + 350, 150),
    ],
}
"""The calls of a stage that can be told from its prompt files, by name as in dvc.yaml."""


def _reckoned(stage: str, records: int) -> list[Estimate]:
    """The calls of a stage to each role, from the lengths of prompt files and of published notes."""
    sums: dict[RoleName, tuple[float, float, float]] = {}
    for step in RECKONED[stage]:
        calls, prompt, reply = sums.get(step.role, (0.0, 0.0, 0.0))
        number = records * step.calls
        sent = template_tokens(step.package, *step.prompts) + step.filled
        sums[step.role] = (calls + number, prompt + number * sent, reply + number * step.reply)
    return [Estimate(role, *map(round, counts)) for role, counts in sums.items()]
