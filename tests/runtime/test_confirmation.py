"""A run that may cost more than `budget.confirm_above_dollars` pays nothing until it is confirmed."""

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from flows.evaluation import audit
from flows.evaluation.audit import Audit
from flows.repository.params import YES, load_params
from flows.repository.workspace import STORE, WORKSPACE
from flows.runtime import rehearsal
from flows.runtime.clients import Clients
from flows.runtime.confirmation import confirmation, require_confirmation
from flows.runtime.costs import Line, priced
from schemas.errors import BudgetError
from schemas.params import Params
from schemas.params.llm import Price, Role
from tasks.llm.costs import Estimate
from tasks.transport.fingerprint import Fingerprint, served_identity
from tests.support.endpoints import chat
from tests.support.hosted import Hosted, completion, hosted
from tests.support.params import shipped
from tests.support.stored import fill, paid

PIPELINE = """
stages:
  facts: {cmd: x, deps: [fingerprints/judge.json], outs: [data/facts]}
  weights: {cmd: x, deps: [data/facts/table.parquet], outs: [weights.parquet]}
  omissions: {cmd: x, deps: [fingerprints/judge.json, weights.parquet], outs: [omissions.parquet]}
  questions: {cmd: x, deps: [fingerprints/judge.json], outs: [questions.parquet]}
"""
STAGES = ("facts", "omissions", "questions")
ASKED = Estimate("judge", 10, 40, 0)


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline whose stages ask the judge ten times each; that of reviews cannot be rehearsed."""

    def rehearsed(params: Params, _: Path, only: Collection[str]) -> tuple[list[Line], dict[str, str]]:
        lines = [priced(params, name, ASKED, "rehearsed") for name in STAGES if name in only]
        lines.append(priced(params, "facts", replace(ASKED, role="annotator"), "rehearsed"))  # the simulator
        return lines, {name: "no rule" for name in only if name not in STAGES}

    monkeypatch.setattr(rehearsal, "estimates", rehearsed)
    monkeypatch.setenv(WORKSPACE, str(tmp_path))
    monkeypatch.delenv(YES, raising=False)
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    return tmp_path / "dvc.yaml"


@pytest.fixture
def endpoint() -> Iterator[Hosted]:
    with hosted(lambda body, _: completion("yes", body)) as found:
        yield found


def params_of(endpoint: Hosted | None, *, stages_allowed: float) -> Params:
    """Params whose limit is so many times the cost of one of the three stages."""
    role = Role(base_url=endpoint.base_url if endpoint else "https://api.example.com/v1", model="big-1")
    budget = {"confirm_above_dollars": stages_allowed * STAGE}
    return shipped(roles={"judge": role}, prices={"big-1": PRICE}, budget=budget)


PRICE = Price(prompt=1e6, completion=0.0)
STAGE = 40.0
"""Dollars of one stage: ten requests of four tokens."""


def ask_once(stage: str, pipeline: Path, params: Params) -> str | None:
    """The first call of a stage, as a bare `dvc repro` runs it."""
    role = params.roles["judge"]
    recorded = Fingerprint("judge", served_identity(role, {}, role.model, None))
    (pipeline.parent / "judge.json").write_text(recorded.to_json())

    async def run() -> str | None:
        clients = Clients(stage, params, confirmation(stage, pipeline), fingerprints=pipeline.parent)
        try:
            (answer,) = await clients.of("judge")([chat(0)])
            return answer.text
        finally:
            await clients.close()

    return asyncio.run(run())


def test_a_stage_stops_before_its_first_call_when_it_and_its_dependents_may_cost_too_much(
    pipeline: Path, endpoint: Hosted
) -> None:
    with pytest.raises(BudgetError, match=r"about 80.00 dollars\. .*use --yes, or set VIGNETTE_YES=1 for dvc"):
        ask_once("facts", pipeline, params_of(endpoint, stages_allowed=1.5))
    assert endpoint.bodies == [], "omissions depends on facts through a stage without calls; questions does not"
    assert ask_once("facts", pipeline, params_of(endpoint, stages_allowed=2.1)) == "yes"


def test_what_the_run_has_spent_counts(pipeline: Path, endpoint: Hosted) -> None:
    fill(pipeline.parent / STORE, paid(99, dollars=60.0))
    with pytest.raises(BudgetError, match=r"about 100.00 dollars \(of which 60.00 are spent"):
        ask_once("questions", pipeline, params_of(endpoint, stages_allowed=2.1))


def test_a_confirmed_run_is_not_stopped(pipeline: Path, endpoint: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(YES, "1")
    assert ask_once("facts", pipeline, params_of(endpoint, stages_allowed=0.1)) == "yes"


@pytest.mark.parametrize(
    ("stages", "unknown"),
    [
        (["questions"], "big-1, which has no price"),
        (["weights", "reviews"], r"stage reviews, whose rehearsal failed \(no rule\)"),
    ],
)
def test_an_unknown_cost_needs_confirmation(pipeline: Path, stages: list[str], unknown: str) -> None:
    pipeline.write_text(PIPELINE + "  reviews: {cmd: x, deps: [fingerprints/judge.json], outs: [r.parquet]}\n")
    params = params_of(None, stages_allowed=100).model_copy(update={"prices": {}})
    with pytest.raises(BudgetError, match=unknown):
        require_confirmation(params, pipeline, stages)


def test_without_a_limit_or_a_paid_role_nothing_is_to_be_confirmed(pipeline: Path) -> None:
    params = params_of(None, stages_allowed=0.1)
    require_confirmation(params.model_copy(update={"budget": load_params().budget}), pipeline, STAGES)
    require_confirmation(params.model_copy(update={"roles": load_params().roles}), pipeline, STAGES)
    shown: list[Line] = []
    with pytest.raises(BudgetError, match=r"about 120.00 dollars"):
        require_confirmation(params, pipeline, STAGES, show=shown.extend)
    assert [line.stage for line in shown] == [*STAGES], "only what is paid"


class Paid(Exception):
    """The first call would be sent."""


async def pay(*_: object, **__: object) -> None:
    raise Paid


@pytest.mark.parametrize(
    ("price", "limit", "confirms", "problem"),
    [
        (PRICE, 39.0, "", r"would cost about 40.00 dollars\. .*confirm_above_dollars is 39: to run it, .*--yes"),
        (PRICE, 40.0, "", ""),
        (PRICE, 39.0, "1", ""),
    ],
)
def test_an_audit_is_confirmed_as_a_run_is(
    monkeypatch: pytest.MonkeyPatch,
    price: Price | None,
    limit: float | None,
    confirms: str,
    problem: str,
) -> None:
    async def rehearsed(params: Params, *_: object) -> list[Line]:
        return [priced(params, "audit", ASKED, "rehearsed")]

    monkeypatch.setattr(audit, "rehearse", rehearsed)
    monkeypatch.setattr(audit, "identified", lambda _, lines: lines)
    monkeypatch.setattr(audit, "verdicts_of", pay)
    monkeypatch.delenv(YES, raising=False)
    if confirms:
        monkeypatch.setenv(YES, confirms)
    params = params_of(None, stages_allowed=1)
    budget = params.budget.model_copy(update={"confirm_above_dollars": limit})
    params = params.model_copy(update={"budget": budget, "prices": {"big-1": price} if price else {}})
    with pytest.raises(BudgetError if problem else Paid, match=problem or None):
        audit.judged([params], Audit({}, pd.DataFrame(), ["claims"]), confirmed=False)
