"""The committed fingerprints of code and the locks are those of the code, and see all code that a stage reaches."""

import hashlib
from pathlib import Path
from typing import Any

from flows.repository.code import COUNTS, EXEMPT, FOLDER, PIPELINES
from flows.repository.lock import parse_lock
from flows.repository.pipeline import declared_outputs, paths_of, read_pipeline
from tasks.code import ROOT
from tasks.measures.described import MEASURES
from tasks.tracking.lineage import record_is_behind
from tests.architecture.code import CODE, STAGES
from tests.support.cases import each

BY_NAME = {
    "flows.commands.parser": "commands",
    "flows.rebuild.forks": "what stages import, before they do",
    "flows.repository.pipeline": "a stage, whose code begins with its function",
    "tasks.measures.cases": "cases of measures, in modules that it names by a pattern",
    "tasks.measures.described": "measures, likewise",
    "tasks.measures.own": "a user's file, which dvc.yaml lists",
    "tasks.simulator.dispatch": "handlers, which it names",
}
"""The modules that import others by name, and what."""


def lock_of(pipeline: Path) -> dict[str, Any]:
    lock = ROOT / pipeline.with_suffix(".lock")
    return parse_lock(lock.read_bytes(), str(lock))


def test_committed_fingerprints_are_those_of_the_code() -> None:
    behind = [str(path) for path in STAGES.changed()]
    assert not behind, "run `vignette repro`, or `vignette stage code` where no stage is to be run yet"
    files = {path.relative_to(ROOT) for path in (ROOT / FOLDER).iterdir()}
    assert files == {*STAGES.contents}, "`vignette stage code`"


def test_a_file_is_written_for_each_stage_of_all_pipelines() -> None:
    stages = {name.partition("@")[0] for file in PIPELINES[:2] for name in read_pipeline(ROOT / file)} | {"evaluate"}
    assert {path.stem for path in STAGES.contents} == stages - {"code"}


@each("pipeline", PIPELINES[:2])
def test_a_lock_was_written_with_the_code_as_it_is(pipeline: Path) -> None:
    locked = lock_of(pipeline)["stages"]
    behind = []
    for name, stage in read_pipeline(ROOT / pipeline).items():
        entries = [entry for kind in ("deps", "outs") for entry in locked.get(name, {}).get(kind, [])]
        recorded = {entry["path"]: entry["md5"] for entry in entries}
        files = [str(path) for path in (*paths_of(stage.get("deps", [])), *map(Path, declared_outputs(stage)))]
        of_code = [path for path in files if path.startswith(f"{FOLDER}/")]
        behind += [name] if any(recorded.get(path) != md5(ROOT / path) for path in of_code) else []
    assert not behind, "run `vignette repro`; where the results stay the same, `dvc commit -f STAGE`"


def md5(file: Path) -> str:
    return hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()


def test_the_recorded_lineage_is_that_of_dvc_lock() -> None:
    assert not record_is_behind(lock_of(PIPELINES[0])), "run `vignette repro`"


def test_exempt_code_exists_and_is_little() -> None:
    assert len(EXEMPT) <= 7
    assert all(any(f"{module}.".startswith(f"{name}.") for module in CODE.modules) for name in EXEMPT)
    assert {*COUNTS} <= {*CODE.modules} and all(name.startswith(tuple(EXEMPT)) for name in COUNTS)


def test_modules_that_are_imported_by_name_are_known() -> None:
    functions = {("importlib", "import_module"), ("importlib", None), ("importlib.util", None)}
    found = {m for m in CODE.modules if functions & {place for one in CODE.statements(m) for place in one.imports}}
    assert found == {*BY_NAME}
    named = {name for name, _ in CODE.imported_by_name("tasks.simulator.dispatch")}
    handlers = named - {"tasks.simulator.writer"}  # a family of the simulator's models, and a package
    assert {"tasks.simulator.writer.notes", "tasks.simulator.reader.verdicts"} <= handlers
    assert handlers <= {*STAGES.of("probe")}


def test_the_stage_of_a_measure_does_not_depend_on_all_measures() -> None:
    stages = {path.stem for path in STAGES.contents if path.stem.removesuffix("_published") in MEASURES}
    assert {"doclens", "doclens_published", "note_qa", "overlap"} <= stages
    for stage in (*stages, "own_metrics"):
        assert not {*STAGES.of(stage)} & {"tasks.measures.described", "tasks.measures.cases"}


def test_a_packaged_file_has_a_reader() -> None:
    """Each would otherwise belong to no stage and to no command."""
    read = CODE.packaged({module: CODE.statements(module) for module in CODE.modules})
    assert [path for path in CODE.files if path not in read] == []


def test_decorators_of_stages_and_schemas_register_nothing() -> None:
    """Of these modules only the definitions count that are used."""
    found = {
        line.strip().partition("(")[0]
        for module, file in CODE.modules.items()
        if module.startswith(("flows.stages.", "schemas.tables."))
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("@")
    }
    assert found <= {"@dataclass", "@cache", "@lru_cache", "@contextmanager"}
