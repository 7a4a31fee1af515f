"""Error reports of failed stages, and the stages that call a model."""

import asyncio
import json
import os
import time
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
import typer
import yaml

from flows.commands import stage
from flows.commands.stage import _report
from flows.rebuild.dvc_stage import NO_MORE_CALLS
from flows.repository.params import load_params
from flows.repository.pipeline import StageFiles
from flows.repository.workspace import root, workspace, write_text
from schemas.errors import BudgetError, BusyError, ParamsError, TableError, VignetteError
from tasks.domains.in_use import VARIABLE
from tasks.transport.processes import RUN
from tests.support.cases import each
from tests.support.imports import ROOT


@each(
    "error, said",
    [
        (
            BaseExceptionGroup("tasks", [KeyError("x"), ExceptionGroup("chunks", [BudgetError("the cap is reached")])]),
            "the cap is reached",
        ),
        (ValueError("two\nlines"), "unexpected ValueError: two lines (vignette stage write --traceback shows where)"),
        (KeyboardInterrupt(), "interrupted; answered calls are stored, run again to resume"),
    ],
)
def test_an_error_is_reported_in_one_line_by_its_cause(
    error: BaseException, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _report(error, "write", show_traceback=False)
    assert capsys.readouterr().err == f"write: {said}\n"


def test_where_an_error_was_raised_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    _report(ValueError("gone"), "write", show_traceback=True)
    assert capsys.readouterr().err.startswith("ValueError: gone\nwrite: unexpected ValueError: gone (vignette stage ")


@each("changed, said", [(["count", "write"], "changed: count, write"), ([], "unchanged")])
def test_the_stage_of_the_code_names_the_stages_whose_code_changed(
    changed: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stage.StageCode, "write", lambda _: changed)
    stage.main("code")
    assert capsys.readouterr().out == f"fingerprints/code: {said}\n"


@each(
    "error, status, restored",
    [
        (ValueError("no"), 1, ["write"]),
        (ExceptionGroup("chunks", [BudgetError("the cap")]), NO_MORE_CALLS, ["write"]),
        (BusyError("another run"), 1, []),
    ],
)
@each("within", [False, True])
def test_a_failed_stage_has_its_outputs_back_unless_another_run_may_write_them(
    within: bool, error: Exception, status: int, restored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``within`` a rebuild, which keeps the lock itself."""
    done: list[str] = []
    monkeypatch.setattr(stage, "end_with_parent", lambda: None)
    monkeypatch.setattr(stage, "stage_lease", lambda *_: nullcontext())
    monkeypatch.setattr(stage, "keep_lock", lambda lock: done.append(str(lock)))
    monkeypatch.setattr(stage, "restore_outputs", lambda _, name: done.append(name))
    monkeypatch.setattr(stage, "_run", AsyncMock(side_effect=error))
    monkeypatch.delenv(RUN, raising=False)
    if within:
        monkeypatch.setenv(RUN, "1:2")
    with pytest.raises(typer.Exit) as ended:
        stage.main("write", Path("dvc.yaml"))
    assert ended.value.exit_code == status and done == [*([] if within else ["dvc.lock"]), *restored]


def test_a_stage_without_its_inputs_names_their_maker_before_prefect_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stages = {"sample": {"outs": ["data/records.parquet"]}, "count": {"deps": ["data/records.parquet"]}}
    Path("dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    monkeypatch.setattr(stage, "use_server", lambda: pytest.fail("Prefect is waited for"))
    with pytest.raises(VignetteError, match=r"records.parquet: no such file; stage sample makes it; run: vignette"):
        asyncio.run(stage._run("count", Path("dvc.yaml"), ROOT / "params.yaml"))


def test_params_that_were_changed_while_the_stage_ran_are_not_recorded_as_those_of_its_outputs(tmp_path: Path) -> None:
    params, file, shipped = load_params(ROOT / "params.yaml"), tmp_path / "params.yaml", ROOT / "params.yaml"
    changed = file.write_text(shipped.read_text().replace("sample: {records: 1000}", "sample: {records: 50}"))
    assert changed and load_params(file) != params
    for declared in (frozenset({"seed", "sample"}), None):
        files = StageFiles("sample", {}, {}, params=declared)
        stage.require_unchanged(files, {}, params, shipped)
        with pytest.raises(ParamsError, match="params of stage sample were changed while it ran; run it again"):
            stage.require_unchanged(files, {}, params, file)
    stage.require_unchanged(StageFiles("network", {}, {}, params=frozenset({"seed", "network"})), {}, params, file)


def test_a_stage_of_another_domain_than_its_run_is_refused_as_dvc_would_record_it_as_that_of_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(RUN, f"{os.getpid()}:1")
    monkeypatch.setenv(VARIABLE, "urinary")
    with pytest.raises(ParamsError, match=r"domain is 'respiratory', and was 'urinary' when the run began; run it"):
        asyncio.run(stage._run("sample", Path("dvc.yaml"), ROOT / "params.yaml"))


@each("path", ["notes.csv", "returned/form.json", "returned/new.json"])
def test_a_dependency_that_changed_while_the_stage_ran_is_not_recorded_with_earlier_outputs(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("returned").mkdir(exist_ok=True)
    for name in ("notes.csv", "returned/form.json"):
        Path(name).write_text("a")
    files = StageFiles("read", {"notes": Path("notes.csv"), "returned": Path("returned")}, {})
    params, before = load_params(ROOT / "params.yaml"), stage.contents(files.deps.values())
    os.utime("notes.csv", (1, 1))  # the same bytes
    stage.require_unchanged(files, before, params, ROOT / "params.yaml")
    Path(path).write_text("ab")
    with pytest.raises(TableError, match=f"{path}: changed while stage read, which reads it, ran; run it again"):
        stage.require_unchanged(files, before, params, ROOT / "params.yaml")


CODE = {
    "flows.stages.overlap": "flows/stages/overlap.py",
    "tasks.judges": "tasks/judges/__init__.py",
    "tasks/judges/prompts/claim.txt": "tasks/judges/prompts/claim.txt",
}


@each("name", CODE)
def test_code_and_prompts_that_were_changed_since_the_run_began_make_no_outputs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by git checkout of another branch, or by rsync, which keeps the time of the last edit."""
    monkeypatch.chdir(tmp_path)
    write_text(stage.FOLDER / "overlap.json", json.dumps(dict.fromkeys(CODE, "hash")))
    for path in CODE.values():
        write_text(Path(path), "")
    time.sleep(0.1)
    begun = time.time()
    monkeypatch.setattr(stage, "code_loaded_since", lambda: begun - 1)
    stage.require_same_code("overlap")
    time.sleep(0.1)  # the clock of files is some milliseconds behind
    os.utime(CODE[name], (1, 1))
    with pytest.raises(VignetteError, match=f"{name}: changed since the run of stage overlap, which uses it, began"):
        stage.require_same_code("overlap")
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: begun - 3600)  # the clock was set back
        stage.require_same_code("overlap")


def test_the_root_is_found_upward_and_dvc_root_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    (below := tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(below)
    assert root() == tmp_path and workspace() == tmp_path / ".vignette"
    monkeypatch.setenv("DVC_ROOT", str(below))
    assert root() == below
    monkeypatch.delenv("DVC_ROOT")
    monkeypatch.chdir("/")
    with pytest.raises(VignetteError, match="no clone of vignette here or above"):
        root()
