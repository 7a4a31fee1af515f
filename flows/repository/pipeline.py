"""Reads dvc.yaml, which alone defines the stages and the files that each may read and must write."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import yaml

from schemas.errors import VignetteError, did_you_mean
from schemas.params.llm import RoleName
from tasks.code import FOLDERS
from tasks.domains.in_use import domain_name

MAIN = Path("dvc.yaml")
"""The main pipeline."""
PUBLISHED = Path("reports/published/dvc.yaml")
"""The pipeline that needs outside data or the sizes of the papers."""

CODE = (*FOLDERS, "fingerprints/code")
"""Folders of code, and of what stage `code` writes of it."""

_STAGES = Path(__file__).parents[1] / "stages"


@dataclass(frozen=True)
class StageFiles:
    """The paths that dvc.yaml declares for a stage, by stem: ``data/sample/records.parquet`` is ``records``.

    Where two share a stem, it is preceded by the folder: ``sample/records``.
    """

    name: str
    deps: dict[str, Path]
    outs: dict[str, Path]
    pipeline: Path = MAIN
    params: frozenset[str] | None = None
    """Params that dvc.yaml lists for the stage; None for all of them."""

    @property
    def roles(self) -> list[RoleName]:
        """The roles that the stage asks: those whose fingerprint it depends on."""
        return _roles(self.deps.values())

    def dep(self, stem: str) -> Path:
        """The declared input file of that stem; raises VignetteError when there is none."""
        return self._find(self.deps, stem, "deps")

    def out(self, stem: str) -> Path:
        """The declared output file of that stem; raises VignetteError when there is none."""
        return self._find(self.outs, stem, "outs")

    def _find(self, files: dict[str, Path], stem: str, kind: str) -> Path:
        if stem not in files:
            raise VignetteError(
                f"dvc.yaml: stage {self.name} has no {stem!r} among its {kind} ({', '.join(sorted(files))}); add it"
            )
        return files[stem]


def read_pipeline(file: Path) -> dict[str, dict[str, Any]]:
    """The stages of a dvc.yaml, by name, filled as DVC does: with the domain in use, and each item of a ``foreach``.

    A stage with ``foreach`` is returned once for each item of its list, or for each entry of the mapping that it names
    in the params file next to the dvc.yaml, as ``name@item``.
    """
    try:
        text = file.read_text(encoding="utf-8").replace("${domain}", domain_name())
    except FileNotFoundError as error:
        raise VignetteError(f"{file}: no such file; run from the repository's root") from error
    stages: dict[str, dict[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)["stages"]
    return {
        name: stage
        for key, entry in stages.items()
        for name, stage in _filled(key, entry, file.with_name("params.yaml"))
    }


def _filled(key: str, entry: dict[str, Any], params: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if "foreach" not in entry:
        yield key, entry
        return
    template = yaml.safe_dump(entry["do"], width=10_000)
    for item, places in _items(entry["foreach"], params).items():
        filled = template
        for place, value in places.items():
            filled = filled.replace(place, value)
        yield f"{key}@{item}", yaml.safe_load(filled)


def _items(foreach: list[str] | str, params: Path) -> dict[str, dict[str, str]]:
    """What each item of a ``foreach`` fills in, by the item's name."""
    if isinstance(foreach, list):
        return {item: {"${item}": item} for item in foreach}
    section = foreach.removeprefix("${").removesuffix("}")
    entries: dict[str, dict[str, Any]] = yaml.safe_load(params.read_text(encoding="utf-8"))[section]
    return {
        key: {"${key}": key} | {f"${{item.{name}}}": str(value) for name, value in entry.items()}
        for key, entry in entries.items()
    }


def declared_outputs(stage: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The outputs, metrics and plots of one stage of a dvc.yaml: DVC's options (``cache: false``) by path."""
    declared: dict[str, dict[str, Any]] = {}
    for kind in ("outs", "metrics", "plots"):
        for entry in stage.get(kind, []):
            declared |= entry if isinstance(entry, dict) else {entry: {}}
    return declared


def maker_of(path: Path) -> str:
    """Which stage makes a file or folder, and the command that runs this stage; for errors on missing files."""
    sought = Path(os.path.relpath(path))
    for file in filter(Path.exists, (MAIN, PUBLISHED)):
        option = "" if file == MAIN else f"--pipeline {file} "
        for name, stage in read_pipeline(file).items():
            if {sought, *sought.parents} & set(map(Path, declared_outputs(stage))):
                return f"stage {name} makes it; run: vignette repro {option}{name}"
    return "run the stage that makes it (vignette repro)"


def model_stages(file: Path) -> dict[str, list[RoleName]]:
    """The stages of a dvc.yaml that call a model, with the roles whose fingerprints they depend on.

    The report calls none; it shows the fingerprints, and all params.
    """
    roles = {
        name: _roles(paths_of(stage.get("deps", [])))
        for name, stage in read_pipeline(file).items()
        if _listed_params(stage.get("params", [])) is not None
    }
    return {name: asked for name, asked in roles.items() if asked}


def needed_by(stages: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    """The stages whose outputs each stage depends on, directly, by file or by a folder above or below it."""
    made = [(f"{Path(path)}/", name) for name, stage in stages.items() for path in declared_outputs(stage)]
    needs = {}
    for name, stage in stages.items():
        deps = [f"{dep}/" for dep in paths_of(stage.get("deps", []))]
        makers = {maker for dep in deps for out, maker in made if out.startswith(dep) or dep.startswith(out)}
        needs[name] = makers - {name}
    return needs


def with_dependents(stages: dict[str, dict[str, Any]], names: Collection[str]) -> list[str]:
    """``names``, and the stages that depend on them directly or through others, in the order of ``stages``."""
    needs = needed_by(stages)
    found = _reached(names, {name: [other for other in stages if name in needs[other]] for name in stages})
    return [name for name in stages if name in found]


def with_needed(stages: dict[str, dict[str, Any]], targets: Collection[str]) -> set[str]:
    """``targets``, or all stages if there are none, with the stages of the same pipeline that they depend on."""
    return _reached(targets or stages, needed_by(stages))


def _reached(names: Collection[str], steps: Mapping[str, Collection[str]]) -> set[str]:
    """``names`` and all that steps lead to from them."""
    waiting, found = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(steps.get(name, ()))
    return found


def _roles(deps: Collection[Path]) -> list[RoleName]:
    files = {path.parts[-2:] for path in deps}  # those of a trial are in its folder
    return [role for role in get_args(RoleName) if ("fingerprints", f"{role}.json") in files]


def stage_files(file: Path, name: str) -> StageFiles:
    """The declared files of one stage; paths are relative to the stage's wdir, from which it runs."""
    stages = read_pipeline(file)
    if name not in stages:
        raise VignetteError(f"{file}: no stage {name!r}; it has {', '.join(stages)}{did_you_mean(name, stages)}")
    stage = stages[name]
    deps, outs = paths_of(stage.get("deps", [])), [Path(path) for path in declared_outputs(stage)]
    return StageFiles(name, _by_stem(deps), _by_stem(outs), file, _listed_params(stage.get("params", [])))


def _listed_params(entries: list[Any]) -> frozenset[str] | None:
    """Params of ``params.yaml`` in the form of dvc.yaml; None where a stage depends on the whole file."""
    if {"params.yaml": None} in entries:
        return None
    return frozenset(entry for entry in entries if isinstance(entry, str))


@cache
def place_of(stage: str, kind: str = "run") -> tuple[str, str]:
    """The module of a stage and its function, see `flows.stages`: ``kind`` is ``run`` or ``reads``."""
    for file in _STAGES.glob("*.py"):
        if f"async def run_{stage}(" in file.read_text(encoding="utf-8"):
            return f"flows.stages.{file.stem}", f"{kind}_{stage}"
    return f"flows.stages.{stage}", kind


def stage_function(stage: str, kind: str = "run") -> Callable[[Any], Any]:
    """The function itself; imports its module."""
    module, name = place_of(stage, kind)
    function: Callable[[Any], Any] = getattr(import_module(module), name)
    return function


def paths_of(entries: list[Any]) -> list[Path]:
    """Paths of entries of ``deps`` or ``outs``, with or without options."""
    return [Path(next(iter(entry)) if isinstance(entry, dict) else entry) for entry in entries]


def _by_stem(paths: list[Path]) -> dict[str, Path]:
    data = [path for path in paths if not path.as_posix().startswith(CODE)]
    stems = Counter(path.stem for path in data)
    # A data file within the code (a network definition, a printed table) never takes the stem of a stage's output.
    found = {path.stem: path for path in paths if path.parts[0] in FOLDERS and path.suffix}
    return found | {path.stem if stems[path.stem] == 1 else f"{path.parent.name}/{path.stem}": path for path in data}
