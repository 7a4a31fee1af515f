"""dvc.yaml, params.yaml and flows/stages say the same."""

from pathlib import Path

import pytest
import yaml

from flows.engine.params import load_params
from flows.engine.pipeline import read_pipeline
from schemas.params import Params
from tests.support.imports import ROOT, project_modules, reachable

PIPELINES = [Path("dvc.yaml"), Path("reports/published/dvc.yaml")]
STAGES = [(file, name, stage) for file in PIPELINES for name, stage in read_pipeline(ROOT / file).items()]
IDS = [f"{file}:{name}" for file, name, _ in STAGES]

# What runs a stage but changes no byte of its outputs. The model behind an endpoint is tracked by fingerprints/, the
# values of params by dvc.yaml's params.
MACHINERY = frozenset(
    {"flows", "flows.stages", "flows.engine", "tasks", "tasks.llm", "tasks.progress", "schemas", "schemas.errors"}
    | {
        f"flows.engine.{name}"
        for name in ("stage", "tables", "workspace", "pipeline", "frames", "chunks", "lineage", "sources")
    }
    | {module for module in project_modules() if module.startswith("schemas.params")}
)
GLOBAL_SECTIONS = {"seed", "roles", "prices", "sources", "runtime", "budget", "watch"}


def dependencies(stage: dict) -> list[str]:
    return [next(iter(entry)) if isinstance(entry, dict) else entry for entry in stage.get("deps", [])]


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_stage_has_its_flow(file: Path, name: str, stage: dict) -> None:
    assert f"flows.stages.{name}" in project_modules()
    extra = "" if file == PIPELINES[0] else f" --pipeline {file}"
    assert stage["cmd"] == f"vignette stage {name}{extra}"


def test_every_flow_is_a_stage() -> None:
    stages = {name for _, name, _ in STAGES}
    flows = {module.split(".")[-1] for module in project_modules() if module.startswith("flows.stages.")}
    assert flows <= stages, f"no dvc.yaml has {flows - stages}"


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_deps_cover_what_the_stage_imports(file: Path, name: str, stage: dict) -> None:
    covered = dependencies(stage)
    for module in sorted(reachable(f"flows.stages.{name}", MACHINERY)):
        path = project_modules()[module].relative_to(ROOT)
        if path.name == "__init__.py" and any(dep.startswith(f"{path.parent}/") for dep in covered):
            continue  # a package's docstring, where a module of it is named
        assert any(path.is_relative_to(dep) for dep in covered), f"{name} runs {path}, which is not in its deps"


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_deps_and_outs_exist_where_they_should(file: Path, name: str, stage: dict) -> None:
    outs = {
        next(iter(out)) if isinstance(out, dict) else out
        for other in read_pipeline(ROOT / file).values()
        for kind in ("outs", "metrics", "plots")
        for out in other.get(kind, [])
    }
    for dep in dependencies(stage):
        assert dep in outs or (ROOT / dep).exists(), f"{name} depends on {dep}, which neither exists nor is made"


def params_of(stage: dict) -> list[str]:
    """Dotted names of the params that a stage depends on; every one of the file where it names the file alone."""
    named = []
    for entry in stage.get("params", []):
        named += list(Params.model_fields) if isinstance(entry, dict) else [entry]
    return named


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_params_of_a_stage_exist(file: Path, name: str, stage: dict) -> None:
    params = load_params(ROOT / "params.yaml").model_dump()
    for key in params_of(stage):
        section = params
        for part in key.split("."):
            assert part in section, f"{name} depends on params {key}, which params.yaml lacks"
            section = section[part]


def test_every_params_section_is_of_a_stage() -> None:
    used = {key.split(".")[0] for _, name, stage in STAGES for key in params_of(stage) if name != "report"} | {"report"}
    sections = set(Params.model_fields) - GLOBAL_SECTIONS
    assert sections <= used, f"no stage depends on {sections - used}"


def test_params_yaml_spells_out_every_section() -> None:
    loaded = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    assert set(loaded) == set(Params.model_fields)


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_roles_asked_are_dependencies(file: Path, name: str, stage: dict) -> None:
    source = (ROOT / "flows" / "stages" / f"{name}.py").read_text(encoding="utf-8")
    for role in ("writer", "annotator", "judge", "answerer"):
        if f'ask("{role}")' in source:
            assert f"fingerprints/{role}.json" in dependencies(stage), f"{name} asks {role} without its fingerprint"


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_stages_that_read_outside_data_depend_on_its_content(file: Path, name: str, stage: dict) -> None:
    source = (ROOT / "flows" / "stages" / f"{name}.py").read_text(encoding="utf-8")
    assert ("stage.sources" in source) == ("fingerprints/sources.json" in dependencies(stage))
