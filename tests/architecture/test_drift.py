"""dvc.yaml, params.yaml and flows/stages agree."""

from pathlib import Path
from typing import get_args

import pytest
import yaml

from flows.commands.deps import differences, generated
from flows.engine.code_dependencies import MACHINERY, code_dependencies
from flows.engine.pipeline import declared_outputs, paths_of, read_pipeline
from schemas.params.llm import RoleName
from tests.support.imports import ROOT, project_modules
from tests.support.params_use import below, params_read, roles_asked

EVALUATIONS = Path("evaluations/dvc.yaml")
PIPELINES = [Path("dvc.yaml"), Path("reports/published/dvc.yaml")]
ALL = [(file, name, stage) for file in PIPELINES for name, stage in read_pipeline(ROOT / file).items()]
STAGES = [(file, name, stage) for file, name, stage in ALL if not name.startswith("probe@")]
IDS = [f"{file}:{name}" for file, name, _ in STAGES]


def dependencies(stage: dict) -> list[str]:
    return [next(iter(entry)) if isinstance(entry, dict) else entry for entry in stage.get("deps", [])]


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_stage_has_its_flow(file: Path, name: str, stage: dict) -> None:
    assert f"flows.stages.{name}" in project_modules()
    extra = "" if file == PIPELINES[0] else f" --pipeline {file}"
    assert stage["cmd"] == f"vignette stage {name}{extra}"
    assert stage.get("desc"), f"{name} has no desc"


def test_a_stage_identifies_the_model_of_each_role_and_writes_its_fingerprint() -> None:
    probes = {name: stage for _, name, stage in ALL if name.startswith("probe@")}
    assert set(probes) == {f"probe@{role}" for role in get_args(RoleName)}
    for role in get_args(RoleName):
        probe = probes[f"probe@{role}"]
        assert probe["cmd"] == f"vignette probe --role {role} --if-needed"
        assert probe["outs"] == [{f"fingerprints/{role}.json": {"cache": False, "persist": True}}]


def test_every_flow_is_a_stage() -> None:
    stages = {name for _, name, _ in STAGES}
    flows = {module.split(".")[-1] for module in project_modules() if module.startswith("flows.stages.")}
    assert flows <= stages | {"evaluate"}, f"no dvc.yaml has {flows - stages}"


def test_an_evaluation_depends_on_the_code_and_params_that_it_uses() -> None:
    stage = yaml.safe_load((ROOT / EVALUATIONS).read_text(encoding="utf-8"))["stages"]["evaluate"]["do"]
    listed = [Path(entry) for entry in stage["deps"]]
    used = [Path(entry) for entry in code_dependencies("evaluate")]
    assert [path for path in used if not any(path.is_relative_to(folder) for folder in listed)] == []
    sections = [entry for entry in stage["params"] if isinstance(entry, str)]
    assert params_read("evaluate") <= below(sections)
    assert {f"fingerprints/{role}.json" for role in roles_asked("evaluate")} <= set(stage["deps"])


@pytest.mark.parametrize("file", PIPELINES, ids=str)
def test_code_dependencies_match_the_imports(file: Path) -> None:
    assert differences(ROOT / file) == [], "run vignette deps"
    text = (ROOT / file).read_text(encoding="utf-8")
    assert generated(text) == text


def test_no_output_of_the_second_pipeline_is_in_the_cache() -> None:
    """`dvc pull` on a fresh clone asks the remote for cached outputs only, and the remote has the main pipeline's."""
    stages = read_pipeline(ROOT / PIPELINES[1])
    cached = [
        (name, path)
        for name, stage in stages.items()
        for path, options in declared_outputs(stage).items()
        if options.get("cache") is not False
    ]
    assert cached == []


def test_machinery_names_modules_that_exist() -> None:
    assert set(MACHINERY) <= set(project_modules())


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_paths_of_deps_and_outs_exist(file: Path, name: str, stage: dict) -> None:
    outs = {
        next(iter(out)) if isinstance(out, dict) else out
        for other in read_pipeline(ROOT / file).values()
        for kind in ("outs", "metrics", "plots")
        for out in other.get(kind, [])
    }
    for dep in dependencies(stage):
        assert dep in outs or (ROOT / dep).exists(), f"{name} depends on {dep}, which neither exists nor is made"
    written = set(paths_of([out for kind in ("outs", "metrics", "plots") for out in stage.get(kind, [])]))
    cycles = [dep for dep in dependencies(stage) if any(out.is_relative_to(dep) for out in written)]
    assert not cycles, f"{name} depends on the folder {cycles} that it writes into"


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_stages_that_read_outside_data_depend_on_its_content(file: Path, name: str, stage: dict) -> None:
    source = (ROOT / "flows" / "stages" / f"{name}.py").read_text(encoding="utf-8")
    fingerprints = [dep for dep in dependencies(stage) if dep.startswith("reports/published/sources")]
    assert fingerprints == ([f"reports/published/sources/{name}.json"] if "stage.sources" in source else [])
    assert ("stage.sources" in source) == ("def reads(" in source)
