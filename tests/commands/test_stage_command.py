"""Error reports of failed stages, and the stages that call a model."""

import asyncio
from pathlib import Path

import pytest
import yaml

from flows.commands import stage
from flows.commands.stage import _report
from schemas.errors import BudgetError, VignetteError
from tests.support.imports import ROOT


def test_of_several_errors_the_one_that_names_its_cause_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    inner = ExceptionGroup("chunks", [BudgetError("the cap of 5 dollars is reached")])
    _report(BaseExceptionGroup("tasks", [KeyError("x"), inner]), "write", show_traceback=False)
    assert capsys.readouterr().err == "write: the cap of 5 dollars is reached\n"


def test_an_unexpected_error_is_one_line_with_a_hint_on_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    _report(ValueError("two\nlines"), "write", show_traceback=False)
    line = capsys.readouterr().err
    assert line == "write: unexpected ValueError: two lines (vignette stage write --traceback shows where)\n"


def test_an_interrupted_stage_says_that_it_can_be_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    _report(KeyboardInterrupt(), "write", show_traceback=False)
    assert "run again to resume" in capsys.readouterr().err


def test_a_stage_without_its_inputs_names_their_maker_before_prefect_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stages = {"sample": {"outs": ["data/records.parquet"]}, "count": {"deps": ["data/records.parquet"]}}
    Path("dvc.yaml").write_text(yaml.safe_dump({"stages": stages}))
    monkeypatch.setattr(stage, "use_server", lambda: pytest.fail("Prefect is waited for"))
    with pytest.raises(VignetteError, match=r"records.parquet: no such file; stage sample makes it; run: vignette"):
        asyncio.run(stage._run("count", Path("dvc.yaml"), ROOT / "params.yaml"))
