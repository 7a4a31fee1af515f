"""Keeps the measurements of each run of a stage under the content of its outputs, outside DVC's outputs.

The same outputs are found again whether the stage ran in the clone, in the watch's tree or in an experiment, and also
when DVC restores them from its cache. A clone that pulled the outputs has no measurements of them.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from flows.repository.workspace import workspace, write_atomically, write_text
from tasks.tracking.lineage import StageLineage, StageRun

_RUNS = "runs"
_KEY_BYTES = 32


def keep_run(stage: str, outs: Iterable[Path], run: StageRun, keys: Collection[bytes]) -> None:
    """Keep the measurements of a stage that has written ``outs``, and the store's keys of the replies that it used."""
    file = _file(stage, {path.as_posix(): md5_of(path) for path in outs if path.is_file()})
    write_atomically(file.with_suffix(".keys"), lambda to: to.write_bytes(b"".join(sorted(keys))))
    write_text(file, json.dumps(asdict(run), sort_keys=True) + "\n")


def find_run(stage: StageLineage) -> StageRun | None:
    """The measurements of the run that made a stage's outputs; None where it ran in another clone."""
    file = _file(stage.name, stage.outs)
    return StageRun(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def used_keys(stages: Iterable[StageLineage]) -> set[bytes]:
    """The store's keys of the replies behind the outputs of stages that ran in this clone."""
    files = [_file(stage.name, stage.outs).with_suffix(".keys") for stage in stages]
    kept = b"".join(file.read_bytes() for file in files if file.exists())
    return {kept[start : start + _KEY_BYTES] for start in range(0, len(kept), _KEY_BYTES)}


def _file(stage: str, outs: Mapping[str, str]) -> Path:
    content = {path: md5 for path, md5 in outs.items() if not md5.endswith(".dir")}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
    return workspace() / _RUNS / stage / f"{digest}.json"


def md5_of(path: Path) -> str:
    """Hash of a file's content, as dvc.lock has it."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "md5").hexdigest()
