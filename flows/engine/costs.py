"""Estimates the calls, tokens and dollars of stages before anything is paid."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import ValidationError

from flows.engine.call_sizes import SIZES, fewest_calls, most_calls
from flows.engine.pipeline import model_stages
from flows.engine.workspace import STORE, workspace
from schemas.params import Params
from schemas.params.llm import Sending
from tasks.llm.database import connect, exists
from tasks.llm.estimates import Estimate, rehearsed, template_tokens

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

    ``how`` is counted (at these params), scaled (counted at other params) or reckoned (from prompts). ``least`` and
    ``most``: calls if every reply can be used at once, and if each is asked for again as often as params allow.
    """

    stage: str
    estimate: Estimate
    dollars: float | None
    how: str
    least: int
    most: int

    def dollars_of(self, bound: Bound) -> float:
        """Dollars of the expected, the fewest or the most calls; 0 without a price."""
        calls = {"calls": self.estimate.calls, "least": self.least, "most": self.most}[bound]
        return (self.dollars or 0.0) * calls / max(self.estimate.calls, 1)


def estimates(params: Params, pipeline: Path, records: int | None = None) -> tuple[list[Line], list[str]]:
    """The estimates of the stages that call a model, and the names of the stages that cannot be estimated.

    ``records`` replaces the number of records in params.yaml.
    """
    if records is not None:
        params = params.model_copy(update={"sample": params.sample.model_copy(update={"records": records})})
    counted = _rehearsal(params)
    lines, unknown = [], []
    for stage in model_stages(pipeline):
        then = params_of_last_run(stage, pipeline, params)
        if stage in counted and stage in SIZES and then is not None:
            found, how = _scaled(stage, counted[stage], then, params)
        elif stage in RECKONED:
            found, how = RECKONED[stage](params.sample.records), "reckoned"
        elif stage in counted:
            found, how = counted[stage], "counted at other params"
        else:
            unknown.append(stage)
            continue
        for estimate in found:
            least, most = (bound(stage, estimate.role, estimate.calls, params) for bound in (fewest_calls, most_calls))
            lines.append(Line(stage, estimate, _dollars(params, estimate), how, least, most))
    return lines, unknown


def _scaled(stage: str, counted: list[Estimate], then: Params, now: Params) -> tuple[list[Estimate], str]:
    """What was counted at the params ``then``, in proportion to the params ``now``."""
    before, after = SIZES[stage](then), SIZES[stage](now)
    if before == after:
        return counted, "counted"
    factors = {role: after[role] / before[role] for role in after if before[role]}
    return [estimate.times(factors.get(estimate.role, 1.0)) for estimate in counted], "scaled"


def params_of_last_run(stage: str, pipeline: Path, params: Params) -> Params | None:
    """The params with which dvc.lock says that a stage and stage `sample` ran; None when it says nothing."""
    lock = pipeline.with_suffix(".lock")
    stages = (yaml.safe_load(lock.read_text(encoding="utf-8")) or {}).get("stages", {}) if lock.exists() else {}
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


def _rehearsal(params: Params) -> dict[str, list[Estimate]]:
    where = params.runtime.store or workspace() / STORE
    return rehearsed(connect(where)) if exists(where) else {}


def _dollars(params: Params, estimate: Estimate) -> float | None:
    role = params.roles[estimate.role]
    if role.is_embedded:
        return 0.0
    batch = params.runtime.sending.get(estimate.role, Sending()).transport == "batch"
    return estimate.dollars(params.prices.get(role.model), batch=batch)


def _write(records: int) -> list[Estimate]:
    """One prompt and one note per record; the three-note prompts need fewer calls."""
    prompt = template_tokens("tasks.notes", "note", "instructions")
    return [Estimate("writer", records, records * prompt, records * NOTE_TOKENS)]


def _filter(records: int) -> list[Estimate]:
    """One check per note, and a new note with its check for each rewritten one."""
    note = template_tokens("tasks.notes", "note", "instructions")
    check = template_tokens("tasks.notes", "consistency", "instructions") + NOTE_TOKENS
    checks, rewritten = round(records * (1 + REWRITTEN)), round(records * REWRITTEN)
    return [
        Estimate("annotator", checks, checks * check, checks * 20),
        Estimate("writer", rewritten, rewritten * note, rewritten * NOTE_TOKENS),
    ]


def _compact(records: int) -> list[Estimate]:
    """The note's conversation again, and the request for its compact version."""
    prompt = template_tokens("tasks.notes", "note", "instructions", "compact") + NOTE_TOKENS
    return [Estimate("writer", records, records * prompt, records * COMPACT_TOKENS)]


def _span(records: int) -> list[Estimate]:
    """Extraction, mapping to the compact note and the check of the mapping; corrections for a fifth of the notes."""
    extract = template_tokens("tasks.spans", "extract") + NOTE_TOKENS
    mapping = template_tokens("tasks.spans", "map") + NOTE_TOKENS + COMPACT_TOKENS + 150
    check = mapping + template_tokens("tasks.spans", "same_meaning") + 250
    correct = (template_tokens("tasks.spans", "correct") + NOTE_TOKENS + 60) // 5
    return [Estimate("annotator", round(3.2 * records), records * (extract + mapping + check + correct), records * 450)]


RECKONED: dict[str, Callable[[int], list[Estimate]]] = {
    "write": _write,
    "filter": _filter,
    "compact": _compact,
    "span": _span,
}
"""Estimate from prompt files, by stage name as in dvc.yaml; each takes the number of records."""
