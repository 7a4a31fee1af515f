"""A changed setting of a role makes the stages that ask it stale for DVC, and no other."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.repository.pipeline import model_stages, read_pipeline, with_dependents
from tests.support.clone import Clone

PIPELINES = (Path("dvc.yaml"), Path("reports/published/dvc.yaml"))


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone whose lock holds the params of every stage as they are, as if all had run."""
    found = Clone(tmp_path / "clone")
    params = yaml.safe_load((found.folder / "params.yaml").read_text())
    for pipeline in PIPELINES:
        stages = read_pipeline(found.folder / pipeline)
        lock = {name: {"cmd": stage["cmd"], "params": recorded(stage, params)} for name, stage in stages.items()}
        lock_file = found.folder / pipeline.with_suffix(".lock")
        lock_file.write_text(yaml.safe_dump({"schema": "2.0", "stages": lock}, sort_keys=False))
    return found


def recorded(stage: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """The params of a stage as dvc.lock holds them."""
    values = {}
    for name in stage.get("params", []):
        if isinstance(name, dict):
            return {"params.yaml": params}
        value: Any = params
        for part in name.split("."):
            value = value[part]
        values[name] = value
    return {"params.yaml": values} if values else {}


def test_dvc_finds_the_stages_stale_that_ask_a_role_with_a_changed_setting(clone: Clone) -> None:
    """Each lists the whole role, and so all of its settings: tests/architecture/test_params.py."""
    file = clone.folder / "params.yaml"
    file.write_text(file.read_text().replace("model: vignette-judge", "model: big-2"))
    status = json.loads(clone.run("dvc", "status", "--json").stdout)
    stale = {
        stage.rpartition(":")[2]
        for stage, changes in status.items()
        for change in changes
        if isinstance(change, dict) and change.get("changed deps", {}).get("params.yaml")
    }
    asking = {name for pipeline in PIPELINES for name, roles in model_stages(pipeline).items() if "judge" in roles}
    assert stale == asking | {"probe@judge", "report"}, "the report shows all params"


def test_a_role_reaches_the_stages_that_depend_on_its_fingerprint() -> None:
    stages = read_pipeline(PIPELINES[0])
    reached = set(with_dependents(stages, ["probe@judge"]))
    assert {"doclens", "med_omit", "note_qa", "review", "calibrate", "headlines", "report", "record"} <= reached
    assert not reached & {"sample", "network", "prompt", "write", "filter", "compact", "span", "embed", "baselines"}
    assert {"write", "span", "baselines", "export"} <= set(with_dependents(stages, ["probe@writer"]))
