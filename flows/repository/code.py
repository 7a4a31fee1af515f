"""What the code of each stage means: ``fingerprints/code/<stage>.json``, on which the stage depends in place of code.

A file holds a hash of each module and packaged file that can change what the stage writes, see `tasks.code`; its
difference in a commit says which stages an edit makes stale, and why. Stage `code` of dvc.yaml writes the files.
"""

import ast
import gc
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from flows.repository.pipeline import MAIN, PUBLISHED, declared_outputs, paths_of, place_of
from flows.repository.workspace import FINGERPRINTS, write_text
from schemas.tables.stems import entry_of
from tasks.code import Code, Place
from tasks.tracking.lineage import CODE_STAGE

FOLDER = FINGERPRINTS / CODE_STAGE
EVALUATIONS = Path("evaluations/dvc.yaml")
"""The pipeline of evaluations of the user's own texts."""
PIPELINES = (MAIN, PUBLISHED, EVALUATIONS)

EXEMPT = {
    "flows.runtime": "runs a stage; but for `tables`, which decides the bytes of CSV tables",
    "flows.repository": "finds files; but for what DVC and git know of them, which a stage writes as provenance",
    "tasks.transport": "who answers a call is tracked by fingerprints/, its sampling by params",
    "tasks.domains.in_use": "finds the files of a domain, which dvc.yaml lists",
    "schemas.params": "the values that a stage uses are params of dvc.yaml",
    "schemas.errors": "messages of runs that write nothing",
    "schemas.tables.registry": "the schemas of a stage's tables count, each for itself",
}
"""Modules and packages that change no result, with the reason. No stage depends on them."""
COUNTS = ("flows.runtime.tables", "flows.repository.git", "flows.repository.kept_runs")
"""Modules there that do."""

PROBE = "probe"
"""The stage that identifies the models. It is no function; of what it reaches, the rules of the simulator count."""
SIMULATOR: list[Place] = [(f"tasks.simulator.{name}", None) for name in ("dispatch", "request")]


class StageCode:
    """The code of the stages of a working tree."""

    def __init__(self, root: Path = Path()) -> None:
        self.root = root
        self.code = Code(root.resolve())

    @cached_property
    def exempt(self) -> set[str]:
        """The modules that count for no stage."""
        within = tuple(f"{name}." for name in EXEMPT)
        return {name for name in self.code.modules if f"{name}.".startswith(within)} - {*COUNTS}

    def of(self, stage: str, tables: Iterable[Path] = ()) -> dict[str, str]:
        """Hashes of what shapes the results of a stage: modules by name, packaged files by path.

        ``tables`` are the files that it reads and writes, whose schemas count.
        """
        roots = [place_of(stage), ("flows.runtime.tables", None), *self._schemas(stage, tables)]
        modules = self.code.reached(SIMULATOR if stage == PROBE else roots, self.exempt)
        return self.code.hashes(modules, self.code.packaged(modules))

    def _schemas(self, stage: str, tables: Iterable[Path]) -> list[Place]:
        found: list[Place] = []
        for path in tables:
            if path.stem in self._by_network:
                found.append(("schemas.tables.records", "BY_NETWORK"))
            elif entry := entry_of(path.stem, stage, self._registry):
                module, _, name = self._registry[entry].partition(".")
                found.append((f"schemas.tables.{module}", name))
            elif path.suffix == ".csv":
                found.append(("schemas.tables.metrics", "METRICS"))
        return found

    @cached_property
    def _registry(self) -> dict[str, str]:
        return self._entries("schemas.tables.registry", "TABLES")

    @cached_property
    def _by_network(self) -> dict[str, str]:
        return self._entries("schemas.tables.records", "BY_NETWORK")

    def _entries(self, module: str, name: str) -> dict[str, str]:
        """The keys and values of a dictionary of a module, as they are written."""
        for node in ast.parse(self.code.modules[module].read_bytes()).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None)
            if isinstance(value, ast.Dict) and any(isinstance(one, ast.Name) and one.id == name for one in targets):
                pairs = zip(value.keys, value.values, strict=True)
                return {ast.literal_eval(key): ast.unparse(one) for key, one in pairs if key is not None}
        raise KeyError(f"{module} defines no dictionary {name}")

    @cached_property
    def contents(self) -> dict[Path, str]:
        """What the files of all stages hold, by path: those that stage `code` of dvc.yaml writes."""
        stages = {name: entry for file in PIPELINES for name, entry in _stages(self.root / file).items()}
        written = {
            path for entry in stages.values() for path in paths_of(entry.get("deps", [])) if path.parent == FOLDER
        }
        gc.disable()  # a fourth of the time, and syntax trees leave no garbage
        try:
            found = {path: self.of(path.stem, _tables(stages[path.stem])) for path in sorted(written)}
        finally:
            gc.enable()
        return {path: json.dumps(hashes, indent=1, sort_keys=True) + "\n" for path, hashes in found.items()}

    def changed(self) -> dict[Path, str]:
        """The files that hold something else by now, with what they are to hold."""
        found = {path: (self.root / path, text) for path, text in self.contents.items()}
        return {
            path: text
            for path, (file, text) in found.items()
            if not file.is_file() or file.read_text(encoding="utf-8") != text
        }

    def write(self) -> list[str]:
        """Write what changed, and remove the files of former stages; returns the stages whose file was written."""
        changed = self.changed()
        for file in (self.root / FOLDER).glob("*.json"):
            if file.relative_to(self.root) not in self.contents:
                file.unlink()
        for path, text in changed.items():
            write_text(self.root / path, text)
        return sorted(path.stem for path in changed)


def _stages(file: Path) -> dict[str, dict[str, Any]]:
    """The stages of a dvc.yaml as they are written, a ``foreach`` as one; none where there is no file."""
    if not file.is_file():
        return {}
    found: dict[str, dict[str, Any]] = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)["stages"]
    return {name: entry.get("do", entry) for name, entry in found.items()}


def _tables(entry: dict[str, Any]) -> list[Path]:
    """The tables that a stage reads and writes."""
    paths = [*paths_of(entry.get("deps", [])), *map(Path, declared_outputs(entry))]
    return [path for path in paths if path.suffix in (".parquet", ".csv")]
