"""dvc.yaml, params.yaml and flows/stages agree."""

import ast
from pathlib import Path
from typing import get_args

import pytest
import yaml

from flows.repository.pipeline import declared_outputs, place_of, read_pipeline
from schemas.params.llm import RoleName
from schemas.tables.records import BY_NETWORK
from schemas.tables.registry import schema_of
from tests.support.imports import ROOT, project_modules, reachable, syntax, used_imports

EVALUATIONS = Path("evaluations/dvc.yaml")
CODE = ("flows", "tasks", "schemas")
PIPELINES = [Path("dvc.yaml"), Path("reports/published/dvc.yaml")]
ALL = [(file, name, stage) for file in PIPELINES for name, stage in read_pipeline(ROOT / file).items()]
STAGES = [(file, name, stage) for file, name, stage in ALL if not name.startswith("probe@")]
EVALUATION = yaml.safe_load((ROOT / EVALUATIONS).read_text(encoding="utf-8"))["stages"]["evaluate"]["do"]
EXEMPT = {
    "flows.runtime": "runs a stage; but for tables.py, which each stage lists since it decides the bytes of CSV tables",
    "flows.repository": "where a stage finds files, and what DVC and git know of them",
    "tasks.transport": "who answers a call is tracked by fingerprints/, its sampling by params",
    "schemas.params": "the values that a stage uses are params of dvc.yaml",
    "schemas.errors": "messages of runs that write nothing",
}
"""Code that changes no result, with the reason. No stage depends on it."""
PROVENANCE = ("flows.repository.git", "flows.repository.kept_runs")
"""Modules there that decide what a stage writes of its provenance."""
IDS = [f"{file}:{name}" for file, name, _ in STAGES]


def dependencies(stage: dict) -> list[str]:
    return [next(iter(entry)) if isinstance(entry, dict) else entry for entry in stage.get("deps", [])]


def functions(module: str) -> dict[str, str]:
    """Source of each function of a module by name."""
    text = project_modules()[module].read_text(encoding="utf-8")
    nodes = [n for n in syntax(module).body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: ast.get_source_segment(text, node) or "" for node in nodes}


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_stage_has_its_flow(file: Path, name: str, stage: dict) -> None:
    assert place_of(name)[1] in functions(place_of(name)[0])
    extra = "" if file == PIPELINES[0] else f" --pipeline {file}"
    assert stage["cmd"] == f"vignette stage {name}{extra}"
    assert stage.get("desc"), f"{name} has no desc"


def test_a_stage_identifies_the_model_of_each_role_and_writes_its_fingerprint() -> None:
    probes = {name: stage for _, name, stage in ALL if name.startswith("probe@")}
    assert set(probes) == {f"probe@{role}" for role in get_args(RoleName)}
    for role in get_args(RoleName):
        probe = probes[f"probe@{role}"]
        assert probe["cmd"] == f"vignette probe --role {role} --if-needed" and f"roles.{role}" in probe["params"]
        assert probe["outs"] == [{f"fingerprints/{role}.json": {"cache": False, "persist": True}}]


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_a_table_that_a_stage_writes_has_a_schema(file: Path, name: str, stage: dict) -> None:
    stems = {path.stem for path in map(Path, declared_outputs(stage)) if path.suffix == ".parquet"}
    for stem in stems - set(BY_NETWORK):  # whose columns are those of the domain's network
        assert schema_of(stem, name).columns


def test_every_flow_is_a_stage() -> None:
    places = {place_of(name) for _, name, _ in STAGES} | {place_of("evaluate")}
    modules = [name for name in project_modules() if name.startswith("flows.stages.")]
    flows = {(one, name) for one in modules for name in functions(one) if name == "run" or name.startswith("run_")}
    assert flows == places, f"no dvc.yaml has {flows - places}"


def code_of(stage: str) -> set[Path]:
    """Files of the modules that shape the results of a stage."""
    own, function = place_of(stage)
    exempt = {module for module in project_modules() if module.startswith(tuple(EXEMPT))} - {*PROVENANCE}
    files = {project_modules()[module] for module in {own} | reachable(used_imports(own, function), exempt)}
    return {file.relative_to(ROOT) for file in files if file.name != "__init__.py"} | {Path("flows/runtime/tables.py")}


CODE_OF_STAGES = [
    (file, name.partition("@")[0], stage) for file, name, stage in [*STAGES, (EVALUATIONS, "evaluate", EVALUATION)]
]


@pytest.mark.parametrize(("file", "name", "stage"), CODE_OF_STAGES, ids=lambda value: str(value)[:60])
def test_a_stage_lists_the_folders_of_the_code_that_it_imports_and_no_other(file: Path, name: str, stage: dict) -> None:
    used = code_of(name) - {Path("tasks/domains/in_use.py")}  # it finds the files of a domain, which are listed
    listed = [Path(path) for path in dependencies(stage) if path.split("/")[0] in CODE]
    folders = [
        path for path in listed if path.suffix == ".py" or (path.suffix == "" and "domains" not in path.parts[:-1])
    ]
    lacking = sorted(str(path) for path in used if not covers(folders, path))
    assert lacking == [], f"add to the deps of {name}: a folder, or the file of a stage"
    unused = [str(folder) for folder in folders if not any(path.is_relative_to(folder) for path in used)]
    assert unused == [], f"remove from the deps of {name}"


def covers(folders: list[Path], path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def test_an_edited_prompt_of_one_measure_makes_no_other_stale() -> None:
    prompts = Path("tasks/measures/doclens/prompts")
    stale = {name for _, name, stage in ALL if covers([Path(path) for path in dependencies(stage)], prompts)}
    assert "doclens" in stale
    assert not stale & {"med_omit", "note_qa", "span", "filter", "review"}


def test_exempt_code_exists() -> None:
    assert len(EXEMPT) <= 5
    assert all(any(module.startswith(name) for module in project_modules()) for name in EXEMPT)


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


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_paths_of_deps_and_outs_exist(file: Path, name: str, stage: dict) -> None:
    outs = {out for other in read_pipeline(ROOT / file).values() for out in declared_outputs(other)}
    for dep in dependencies(stage):
        assert dep in outs or (ROOT / dep).exists(), f"{name} depends on {dep}, which neither exists nor is made"
    written = [Path(out) for out in declared_outputs(stage)]
    cycles = [dep for dep in dependencies(stage) if any(out.is_relative_to(dep) for out in written)]
    assert not cycles, f"{name} depends on the folder {cycles} that it writes into"


@pytest.mark.parametrize(("file", "name", "stage"), STAGES, ids=IDS)
def test_stages_that_read_outside_data_depend_on_its_content(file: Path, name: str, stage: dict) -> None:
    module, run = place_of(name)
    own = functions(module) if run == "run" else {run: functions(module)[run]}
    reads_sources = any("stage.sources" in source for source in own.values())
    fingerprints = [dep for dep in dependencies(stage) if dep.startswith("reports/published/sources")]
    assert fingerprints == ([f"reports/published/sources/{name}.json"] if reads_sources else [])
    assert reads_sources == (place_of(name, "reads")[1] in functions(module))
