"""A changed setting of a role makes the stages that ask it stale for DVC, and no other."""

import json
import os
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from dvc.dependency import param as dvc_params
from dvc.repo import Repo

from flows.rebuild.pipeline import read_pipeline, with_dependents
from schemas.params.llm import Role, RoleName
from tests.support.clone import Clone

PIPELINES = (Path("dvc.yaml"), Path("reports/published/dvc.yaml"))
ROLES = get_args(RoleName)
CHANGED: dict[str, Any] = {
    "base_url": "https://api.example.com/v1",
    "model": "big-2",
    "query": {"region": "eu"},
    "headers": {"X-Variant": "b"},
    "temperature": 0.55,
    "max_tokens": 77,
    "protocol": "paper",
    "max_tokens_limit": 999,
    "max_tokens_field": "max_completion_tokens",
    "send_seed": False,
    "redraw": 3,
    "structured": "prompt",
    "reasks": 5,
    "extra_body": {"top_p": 0.5},
    "identity": ["asked"],
    "aliases": ["big-2-0513"],
    "canary_tokens": 900,
    "canary_level": 0.05,
}
"""A value of each setting of a role that differs from the one in params.yaml."""

READS_BASE_URL = {"base_url": {"writer": {"span"}}}
"""Stages that only read whether the simulator serves a role."""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone whose lock holds the params of every stage as they are, as if all had run."""
    folder = tmp_path_factory.mktemp("stale") / "clone"
    found = Clone(folder)
    params = yaml.safe_load((folder / "params.yaml").read_text())
    for pipeline in PIPELINES:
        stages = read_pipeline(folder / pipeline)
        lock = {name: {"cmd": stage["cmd"], "params": recorded(stage, params)} for name, stage in stages.items()}
        lock_file = folder / pipeline.with_suffix(".lock")
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


@pytest.fixture(scope="module")
def repo(clone: Clone) -> Iterator[Repo]:
    here = Path.cwd()
    os.chdir(clone.folder)
    try:
        with Repo(str(clone.folder)) as found:
            yield found
    finally:
        os.chdir(here)


@cache
def asked() -> dict[str, set[str]]:
    """The roles whose identity each stage depends on; asking another one is an error."""
    stages = {name: stage for pipeline in PIPELINES for name, stage in read_pipeline(pipeline).items()}
    return {
        name: {Path(dep).stem for dep in stage.get("deps", []) if Path(dep).match("fingerprints/*.json")}
        for name, stage in stages.items()
        if not name.startswith("probe@")
    }


def asking(role: str, setting: str) -> set[str]:
    """The stages that depend on a setting of a role; `report` shows all params."""
    known = {f"probe@{role}", "report"} | READS_BASE_URL.get(setting, {}).get(role, set())
    return known | {name for name, roles in asked().items() if role in roles}


@cache
def params_of_roles(repo: Repo) -> list[tuple[str, dvc_params.ParamsDependency]]:
    """Params that stages depend on, with the name of the stage, where any is a role's or all are."""
    deps = ((stage.name, dep) for stage in repo.index.stages for dep in stage.deps)
    of_params = ((name, dep) for name, dep in deps if isinstance(dep, dvc_params.ParamsDependency))
    return [(name, dep) for name, dep in of_params if not dep.params or "roles." in str(dep.params)]


def stale(repo: Repo, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The stages whose params DVC finds changed when params.yaml holds ``params``."""
    monkeypatch.setattr(dvc_params, "load_path", lambda path, fs: params)
    return {name for name, dep in params_of_roles(repo) if dep.status()}


def test_every_setting_of_a_role_is_tried() -> None:
    assert set(CHANGED) == set(Role.model_fields)


@pytest.mark.parametrize("role", ROLES)
def test_a_changed_setting_makes_the_stages_stale_that_ask_the_role(
    clone: Clone, repo: Repo, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = yaml.safe_load((clone.folder / "params.yaml").read_text())
    monkeypatch.chdir(clone.folder)
    assert stale(repo, params, monkeypatch) == set()
    settings = CHANGED if role == ROLES[0] else {"base_url": CHANGED["base_url"], "model": CHANGED["model"]}
    for setting, value in settings.items():
        changed = deepcopy(params)
        changed["roles"][role][setting] = value
        assert stale(repo, changed, monkeypatch) == asking(role, setting), setting


def test_dvc_status_names_them_too(clone: Clone) -> None:
    text = (clone.folder / "params.yaml").read_text()
    (clone.folder / "params.yaml").write_text(text.replace("model: vignette-judge", "model: big-2"))
    status = json.loads(clone.run("dvc", "status", "--json").stdout)
    (clone.folder / "params.yaml").write_text(text)
    found = {
        stage.rpartition(":")[2]
        for stage, changes in status.items()
        for change in changes
        if isinstance(change, dict) and change.get("changed deps", {}).get("params.yaml")
    }
    assert found == asking("judge", "model")


def test_a_role_reaches_the_stages_that_depend_on_its_fingerprint() -> None:
    stages = read_pipeline(PIPELINES[0])
    reached = set(with_dependents(stages, ["probe@judge"]))
    assert {"doclens", "med_omit", "note_qa", "review", "calibrate", "headlines", "report", "record"} <= reached
    assert not reached & {"sample", "network", "prompt", "write", "filter", "compact", "span", "embed", "baselines"}
    assert {"write", "span", "baselines", "export", "reproduce"} <= set(with_dependents(stages, ["probe@writer"]))
