"""What a rebuild plans of edited code: the stages whose code means something else, and what depends on them."""

import subprocess
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from flows.rebuild import plan
from flows.repository.pipeline import MAIN, read_pipeline, with_dependents
from schemas.errors import BusyError

DEPS = {"sample": [], "doclens": ["data/sample"], "note_qa": ["data/sample"], "shown": ["data/doclens"]}


class Edited:
    """The code of a tree in which that of some stages was edited."""

    stages: ClassVar[list[str]] = []

    def changed(self) -> dict[Path, str]:
        return {Path(f"fingerprints/code/{name}.json"): "" for name in self.stages}


@pytest.fixture
def status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The stages of a tree that DVC says changed, each of which depends on its code."""
    monkeypatch.chdir(tmp_path)
    files = {name: f"fingerprints/code/{name}.json" for name in DEPS}
    stages: dict[str, Any] = {
        name: {"cmd": "true", "deps": [files[name], *deps], "outs": [f"data/{name}"]} for name, deps in DEPS.items()
    }
    stages = {"code": {"cmd": "vignette stage code", "deps": ["tasks"], "outs": list(files.values())}, **stages}
    MAIN.write_text(yaml.safe_dump({"stages": stages}, sort_keys=False))
    found = set[str]()
    monkeypatch.setattr(plan, "status", lambda *_: found)
    monkeypatch.setattr(plan, "StageCode", Edited)
    return found


def test_an_edit_without_meaning_runs_the_stage_that_reads_the_code_alone(status: set[str]) -> None:
    assert plan.stages_to_run(MAIN) == []
    status.add("code")
    assert plan.stages_to_run(MAIN) == ["code"]


def test_an_edited_stage_runs_with_those_that_depend_on_it(status: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Edited, "stages", ["doclens"])
    assert plan.stages_to_run(MAIN) == [], "the code is read where DVC found it changed"
    status.add("code")
    assert plan.stages_to_run(MAIN) == ["code", "doclens", "shown"]
    assert plan.stages_to_run(MAIN, ["note_qa"]) == ["code"]


def test_another_pipeline_is_told_whose_code_changed(status: set[str]) -> None:
    assert plan.stages_to_run(MAIN, changed_code=["note_qa"]) == ["note_qa"]


def test_a_role_reaches_the_stages_that_depend_on_its_fingerprint() -> None:
    stages = read_pipeline(MAIN)
    reached = set(with_dependents(stages, ["probe@judge"]))
    assert {"doclens", "note_qa", "review", "calibrate", "headlines", "report", "record"} <= reached
    assert not reached & {"sample", "network", "prompt", "write", "filter", "compact", "span", "embed", "baselines"}
    assert {"write", "span", "baselines", "export"} <= set(with_dependents(stages, ["probe@writer"]))


def test_the_lock_of_a_rebuild_is_not_said_to_be_removed_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "ERROR: 'data' is busy, it is being blocked by:\n(PID 7): vignette. Remove '/clone/.dvc/tmp/rwlock'."
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, "", said))
    with pytest.raises(BusyError, match="another run is in progress in this clone; wait for it or stop it"):
        plan.status(MAIN)
