"""Lineages: the inputs and outputs of every stage, as recorded in dvc.lock. Pure functions."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.transport.shown import public_params

CODE_STAGE = "code"
"""The stage that writes what the code of the others means. It depends on every line of code, and makes no result."""

RECORD_STAGE = "record"
"""The stage that writes the lineage. It depends on the id of the lineage."""

_LEFT_OUT = (CODE_STAGE, RECORD_STAGE)
"""Stages that are no part of a lineage."""


@dataclass(frozen=True)
class StageLineage:
    """One stage of a lineage: hashes of its inputs and outputs by path, and its params."""

    name: str
    deps: dict[str, str] = field(default_factory=dict)
    outs: dict[str, str] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StageRun:
    """Measurements of the run that made a stage's outputs: wall time, rows by table, and the replies that it used.

    A reply counts whether it was paid for in this run or kept from an earlier one.
    """

    seconds: float
    rows: dict[str, int] = field(default_factory=dict)
    unscored: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0


@dataclass(frozen=True)
class Lineage:
    """The stages of one dvc.lock. ``id`` is the hash of their content; equal ids mean equal artefacts."""

    id: str
    stages: tuple[StageLineage, ...]

    def as_json(self) -> str:
        """Canonical JSON: equal lineages give equal bytes."""
        body = {"lineage": self.id, "stages": {stage.name: vars(stage) for stage in self.stages}}
        return json.dumps(body, indent=1, sort_keys=True) + "\n"


def read_lineage(lock: dict[str, Any]) -> Lineage:
    """The lineage of a parsed dvc.lock. The id is that of all params, which are kept as they may be shown."""
    stages = {name: _content(stage) for name, stage in lock.get("stages", {}).items() if name not in _LEFT_OUT}
    identity = hashlib.sha256(json.dumps(stages, sort_keys=True).encode()).hexdigest()[:16]
    shown = {name: {**content, "params": public_params(content["params"])} for name, content in stages.items()}
    return Lineage(identity, tuple(StageLineage(name, **content) for name, content in sorted(shown.items())))


def record_is_behind(lock: dict[str, Any]) -> bool:
    """Whether stage `record` of a parsed dvc.lock wrote another lineage than that of the lock.

    DVC runs the stage when a file changes that it depends on. A lineage changes with any file or param of any stage
    too, also where all results come out the same.
    """
    recorded = lock.get("stages", {}).get(RECORD_STAGE)
    if recorded is None:
        return False
    current = hashlib.md5(read_lineage(lock).as_json().encode(), usedforsecurity=False).hexdigest()
    return current not in _hashes(recorded.get("outs", [])).values()


def _content(stage: dict[str, Any]) -> dict[str, Any]:
    return {
        "deps": _hashes(stage.get("deps", [])),
        "outs": _hashes(stage.get("outs", [])),
        "params": {key: value for section in stage.get("params", {}).values() for key, value in section.items()},
    }


def _hashes(entries: list[dict[str, Any]]) -> dict[str, str]:
    return {entry["path"]: entry.get("md5", "") for entry in sorted(entries, key=lambda entry: str(entry["path"]))}


def recorded_mark(folder: Path, lineage_id: str) -> Path:
    """The file whose existence means that the MLflow store in ``folder`` holds the lineage; saves loading mlflow."""
    return folder / "recorded" / lineage_id
