"""A trial runs the stages that ask models on a few records, in a folder of its own, and stops where a model fails."""

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from threading import Event, Thread

import pandas as pd
import pytest

from flows.commands import estimate, repro, trial
from flows.repository.workspace import WORKSPACE
from flows.runtime import rehearsal
from flows.runtime.stage import Stage
from schemas.errors import UnscoredError, VignetteError
from schemas.params import Params
from schemas.params.llm import Role
from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED
from tasks.transport.ledger import Spent
from tests.support.params import shipped
from tests.support.repository import write_files
from tests.support.rules import calls_of_rules, rules

PIPELINE = """
stages:
  drawn: {cmd: vignette stage drawn, params: [sample], outs: [tables/drawn.txt]}
  trained: {cmd: vignette stage trained, deps: [tables], params: [baselines], outs: [data/trained.txt]}
  record: {cmd: vignette stage record, deps: [data/trained.txt], params: [seed], outs: [data/record.txt]}
  good: {cmd: vignette stage good, deps: [fingerprints/writer.json, tables/drawn.txt], params: [seed],
    outs: [data/g.txt]}
  bad: {cmd: vignette stage bad, deps: [fingerprints/writer.json, fingerprints/judge.json, data/g.txt], params: [seed],
    outs: [data/unscored_bad.parquet]}
  next: {cmd: vignette stage next, deps: [fingerprints/judge.json, data/g.txt], params: [seed],
    outs: [data/report/index.html]}
  later: {cmd: vignette stage later, deps: [fingerprints/writer.json, data/g.txt], params: [seed], outs: [data/l.txt]}
"""


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Params]:
    """An endpoint behind writer and judge; stage ``bad`` has a reply of the judge that cannot be used."""

    async def drawn(stage: Stage) -> None:
        stage.save_text("drawn", str(stage.params.sample.records))

    async def trained(stage: Stage) -> None:
        drawn = (stage.dep("tables") / "drawn.txt").read_text()
        frames = {"texts": pd.DataFrame({"document": [str(n) for n in range(20)]})}
        kept = (await stage.in_chunks(lambda chunk, *_: asyncio.sleep(0, chunk), frames, by="document"))["texts"]
        stage.save_text("trained", f"{drawn} records, {len(kept)} documents, seeds {stage.params.baselines.seeds}")

    async def good(stage: Stage) -> None:
        await stage.ask("writer")(calls_of_rules(3))
        stage.save_text("g", "")

    async def bad(stage: Stage) -> None:
        row = {"record": "3", "step": "claims", "reason": "no JSON", "detail": "Sure! Here is\nwhat you asked"}
        stage.save("unscored_bad", typed([row], UNSCORED))
        raise UnscoredError("1 of 1 rows unscored")

    async def later(stage: Stage) -> None:
        await stage.ask("writer")(calls_of_rules(1))

    functions = {one.__name__: one for one in (drawn, trained, good, bad, later)}
    monkeypatch.setattr(rehearsal, "stage_function", functions.__getitem__)
    monkeypatch.setenv(WORKSPACE, str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    Path("dvc.yaml").write_text(PIPELINE)
    with rules(monkeypatch, tmp_path) as base_url:
        role = Role(base_url=base_url, model="vignette-writer")
        found = shipped(roles={"writer": role.model_dump(), "judge": role.model_dump()})
        monkeypatch.setattr(trial, "load_params", lambda: found)
        yield found


def test_a_trial_stops_the_stages_of_a_role_that_no_stage_used_with_success(
    params: Params, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "state" / "trial"
    with pytest.raises(VignetteError, match="failed or not run: bad, next; see above"):
        trial.main()
    said = capsys.readouterr()
    assert "writer: vignette-writer (simulator's rules), epoch 0" in said.out and "for the first time" in said.out
    assert "good: 6 replies of the writer, " in said.out and "later: 2 replies of the writer, " in said.out
    assert "next: not run, because of bad" in said.out and "trained" not in said.out
    assert "bad: 1 of 1 rows unscored" in said.err
    file = folder / "data/unscored_bad.parquet"
    assert f"one of 1 that could not be scored (all in {file}), record 3, step claims:\n  no JSON:\n" in said.out
    assert "    Sure! Here is\n    what you asked\n" in said.out
    table = [line.split() for line in said.out.split("the whole run, 1,000 records")[1].splitlines()]
    assert ["good", "writer", "vignette-writer", "1200"] in [row[:4] for row in table], "6 calls for 5 records"
    assert "not counted, or in part, as they failed or were not run: bad, next; see --estimate" in said.out
    assert (folder / "tables/drawn.txt").read_text() == "5" and len(pd.read_parquet(file)) == 1
    assert not Path("tables").exists() and not Path("fingerprints").exists()
    with pytest.raises(VignetteError, match="failed or not run: bad"):
        trial.main(records=2)
    assert ": unchanged" in capsys.readouterr().out, "the models are those of the last trial"
    assert (folder / "tables/drawn.txt").read_text() == "2"


def test_a_second_trial_waits_for_the_first_whose_tables_it_would_remove(
    params: Params, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    order, held = list[str](), Event()
    second = Thread(target=lambda: (held.wait(), trial.main(records=3)))
    monkeypatch.setattr(trial, "_run", lambda *_, **__: None)

    def ran(_: object) -> tuple[list[object], list[str]]:
        order.append("begun")
        if not held.is_set():
            held.set()
            second.join(1)
        order.append("ended")
        return [], []

    monkeypatch.setattr(trial.asyncio, "run", ran)
    monkeypatch.setattr(trial, "probe_roles", lambda *_: None)
    second.start()
    trial.main(records=2)
    second.join()
    assert order == ["begun", "ended"] * 2
    assert f"{tmp_path / 'state/trial'}: another command writes here; waiting for it" in capsys.readouterr().err


def test_a_whole_trial_runs_all_stages_but_the_record_on_all_documents(
    params: Params, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = tmp_path / "state" / "whole" / "data" / "report" / "index.html"
    write_files(earlier.parent, {earlier.name: "of an earlier trial"})
    with pytest.raises(VignetteError, match="failed or not run: bad, next; see above"):
        trial.main(records=30, whole=True)
    folder = tmp_path / "state" / "whole"
    assert (folder / "data/trained.txt").read_text() == "30 records, 20 documents, seeds [0]"
    said = "no report was made; that of an earlier run was of its tables, and is removed; tables"
    assert said in capsys.readouterr().out and not earlier.exists()
    assert not (folder / "data/record.txt").exists() and not Path("tables").exists()


def test_tokens_of_calls_whose_outcome_is_not_known_are_said_to_be_a_limit(
    params: Params, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = params.budget.ledger
    for stub, value in {"exists": lambda _: True, "open_existing": nullcontext,
                        "ledgers": lambda _: {name: Spent(0.0, 50_517, 209, 38)}}.items():  # fmt: skip
        monkeypatch.setattr(f"tasks.transport.{'database' if stub == 'exists' else 'inspection'}.{stub}", value)
    estimate.print_ledger(params)
    said = " ".join(capsys.readouterr().out.split())
    assert "50517 tokens spent, as much as allowed for 38 of 209 calls, whose outcome is not known; cap" in said


def test_spending_on_models_without_a_price_is_not_said_to_be_nothing(
    params: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = params.roles["judge"].model_copy(update={"base_url": "http://127.0.0.1:1/v1", "model": "own"})
    estimate.print_ledger(params.model_copy(update={"roles": {"judge": judge}, "prices": {}}))
    assert "0.00 dollars (own: no price) and 0 tokens spent" in " ".join(capsys.readouterr().out.split())


def test_a_dear_trial_is_confirmed_before_anything_is_paid(params: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(trial, "require_confirmation", lambda few, *_, **__: asked.append(few.sample.records))
    monkeypatch.setattr(trial, "probe_roles", lambda *_: asked.append("probed"))
    monkeypatch.setattr(trial, "_run", lambda *_, **__: asked.append("run"))
    monkeypatch.setattr(trial.asyncio, "run", lambda _: ([], []))
    trial.main(records=3)
    trial.main(records=3, yes=True)
    assert asked == [3, "probed", "run", "probed", "run"]


def test_a_dry_run_of_all_stages_counts_the_calls_that_a_trial_estimates(
    params: Params, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also those of stages that ask only the simulator, as here the writer is."""
    simulated = params.model_copy(update={"roles": {**params.roles, "writer": shipped().roles["writer"]}})
    names = ["good", "bad", "next", "later"]
    for name, stub in {
        "root": Path, "require_repository": lambda: None, "load_params": lambda: simulated, "exclusive": nullcontext,
        "restore_lock": lambda _: None, "would_change": lambda _: [], "stages_to_run": lambda *_: names,
    }.items():  # fmt: skip
        monkeypatch.setattr(repro, name, stub)
    monkeypatch.setattr(trial, "load_params", lambda: simulated)
    repro.main(dry_run=True)
    planned, _, of_run = capsys.readouterr().out.partition("\n")
    trial.main(estimate=True)
    of_trial = capsys.readouterr().out
    assert planned == "would rebuild: good, bad, next, later"
    rows = [[line.split()[:4] for line in said.splitlines() if "calls of" not in line] for said in (of_run, of_trial)]
    assert ["good", "writer", "vignette-writer", "1200"] in rows[0] and rows[0] == rows[1]
    assert "calls of the stages that would be rebuilt" in of_run and "calls of all stages of dvc.yaml" in of_trial
    assert "and so not exact" in " ".join(of_trial.split())
