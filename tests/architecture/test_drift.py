"""dvc.yaml, params.yaml and flows/stages agree."""

import ast
from functools import cache
from pathlib import Path
from typing import get_args

from flows.repository.code import FOLDER
from flows.repository.pipeline import CODE as OF_CODE
from flows.repository.pipeline import declared_outputs, place_of, read_pipeline, with_needed
from schemas.params.llm import RoleName
from schemas.tables.records import BY_NETWORK
from schemas.tables.registry import schema_of
from tasks.code import DECLARED, ROOT
from tests.architecture.code import CODE
from tests.support.cases import each

PIPELINES = [Path("dvc.yaml"), Path("reports/published/dvc.yaml")]
ALL = [(file, name, stage) for file in PIPELINES for name, stage in read_pipeline(ROOT / file).items()]
STAGES = [(file, name, stage) for file, name, stage in ALL if name != "code" and not name.startswith("probe@")]
IDS = [f"{file}:{name}" for file, name, _ in STAGES]


def dependencies(stage: dict) -> list[str]:
    return [next(iter(entry)) if isinstance(entry, dict) else entry for entry in stage.get("deps", [])]


@cache
def functions(module: str) -> dict[str, str]:
    """Source of each function of a module by name."""
    text = CODE.modules[module].read_text(encoding="utf-8")
    nodes = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: ast.get_source_segment(text, node) or "" for node in nodes}


@each("file, name, stage", STAGES)
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


@each("file, name, stage", STAGES)
def test_a_table_that_a_stage_writes_has_a_schema(file: Path, name: str, stage: dict) -> None:
    stems = {path.stem for path in map(Path, declared_outputs(stage)) if path.suffix == ".parquet"}
    for stem in stems - set(BY_NETWORK):  # whose columns are those of the domain's network
        assert schema_of(stem, name).columns


def test_every_flow_is_a_stage() -> None:
    places = {place_of(name) for _, name, _ in STAGES} | {place_of("evaluate")}
    modules = [name for name in CODE.modules if name.startswith("flows.stages.")]
    flows = {(one, name) for one in modules for name in functions(one) if name == "run" or name.startswith("run_")}
    assert flows == places, f"no dvc.yaml has {flows - places}"


@each("file, name, stage", STAGES)
def test_a_stage_depends_on_what_its_own_code_means_and_on_no_code_besides(file: Path, name: str, stage: dict) -> None:
    code = [dep for dep in dependencies(stage) if dep.startswith(OF_CODE) and not dep.startswith(DECLARED)]
    assert code == [f"{FOLDER}/{name}.json"]


def test_every_stage_of_the_main_pipeline_comes_before_the_record() -> None:
    """So that the lineage that it writes is complete."""
    stages = read_pipeline(ROOT / PIPELINES[0])
    assert with_needed(stages, ["record"]) == {*stages}


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


@each("file, name, stage", STAGES)
def test_paths_of_deps_and_outs_exist(file: Path, name: str, stage: dict) -> None:
    outs = {out for other in read_pipeline(ROOT / file).values() for out in declared_outputs(other)}
    for dep in dependencies(stage):
        assert dep in outs or (ROOT / dep).exists(), f"{name} depends on {dep}, which neither exists nor is made"
    written = [Path(out) for out in declared_outputs(stage)]
    cycles = [dep for dep in dependencies(stage) if any(out.is_relative_to(dep) for out in written)]
    assert not cycles, f"{name} depends on the folder {cycles} that it writes into"


@each("file, name, stage", STAGES)
def test_stages_that_read_outside_data_depend_on_its_content(file: Path, name: str, stage: dict) -> None:
    module, run = place_of(name)
    own = functions(module) if run == "run" else {run: functions(module)[run]}
    reads_sources = any("stage.sources" in source for source in own.values())
    fingerprints = [dep for dep in dependencies(stage) if dep.startswith("reports/published/sources")]
    assert fingerprints == ([f"reports/published/sources/{name}.json"] if reads_sources else [])
    assert reads_sources == (place_of(name, "reads")[1] in functions(module))
