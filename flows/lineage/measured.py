"""Keeps the measurements of each run of a stage under the content of its outputs, outside DVC's outputs.

The same outputs are found again whether the stage ran in the clone, in the watch's tree or in an experiment, and also
when DVC restores them from its cache. A clone that pulled the outputs has no measurements of them. With the replies
behind each output, it is known what only lineages to be forgotten use.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flows.lineage.git import references, show
from flows.lineage.lineage import NamedLineage, find_lineage
from flows.rebuild.cache import cached_file
from flows.rebuild.pipeline import MAIN
from flows.runtime.workspace import workspace
from tasks.tracking.lineage import Lineage, StageLineage, StageRun

_RUNS = "runs"
TAG = "lineage/"


def keep_run(stage: str, outs: Iterable[Path], run: StageRun, keys: Collection[bytes]) -> None:
    """Keep the measurements of a stage that has written ``outs``, and the store's keys of the replies that it used."""
    file = _file(stage, {path.as_posix(): _md5(path) for path in outs if path.is_file()})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".keys").write_bytes(b"".join(sorted(keys)))
    file.write_text(run.as_json(), encoding="utf-8")


def find_run(stage: StageLineage) -> StageRun | None:
    """The measurements of the run that made a stage's outputs; None where it ran in another clone."""
    file = _file(stage.name, stage.outs)
    return StageRun(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def used_by_all(stages: Iterable[StageLineage]) -> set[bytes]:
    """The store's keys of the replies behind the outputs of stages that ran in this clone."""
    return set().union(*(used_keys(stage) or set() for stage in stages))


def used_keys(stage: StageLineage) -> set[bytes] | None:
    """The store's keys of the replies behind a stage's outputs; None where it ran in another clone."""
    from tasks.transport.store import split_keys  # loads SQLAlchemy

    file = _file(stage.name, stage.outs).with_suffix(".keys")
    return set(split_keys(file.read_bytes())) if file.exists() else None


def drop_runs(kept: Iterable[StageLineage]) -> int:
    """Delete the measurements of all outputs but those of ``kept``; returns how many runs were forgotten."""
    names = {_file(stage.name, stage.outs) for stage in kept}
    dropped = [file for file in (workspace() / _RUNS).glob("*/*.json") if file not in names]
    for file in dropped:
        file.unlink()
        file.with_suffix(".keys").unlink(missing_ok=True)
    return len(dropped)


@dataclass(frozen=True)
class Unused:
    """What only the lineages to be forgotten use. ``keys`` are those of replies in the store."""

    files: set[Path] = field(default_factory=set)
    keys: set[bytes] = field(default_factory=set)
    tags: list[str] = field(default_factory=list)

    @property
    def megabytes(self) -> float:
        """Size of the files."""
        return sum(file.stat().st_size for file in self.files) / 1e6


def find_unused(forgotten: Collection[NamedLineage], kept: Collection[NamedLineage]) -> Unused:
    """What the forgotten lineages use and neither the kept ones nor any branch, experiment or other tag does."""
    known = references("refs/tags")
    tags = [tag for tag in (f"{TAG}{one.lineage.id}" for one in forgotten) if f"refs/tags/{tag}" in known]
    needed = [lineage.lineage for lineage in kept] + list(_referenced(tags))
    dropped = [lineage.lineage for lineage in forgotten]
    return Unused(_cached_files(dropped) - _cached_files(needed), _keys(dropped) - _keys(needed), tags)


def _referenced(but: Collection[str]) -> Iterable[Lineage]:
    """Lineages of the branches, tags and experiments that have a dvc.lock, except the tags ``but``."""
    listed = references("refs/heads", "refs/tags", "refs/exps").items()
    for commit in sorted({commit for reference, commit in listed if reference.removeprefix("refs/tags/") not in but}):
        if show(commit, MAIN.with_suffix(".lock")) is not None:
            yield find_lineage(commit).lineage


def _cached_files(lineages: Iterable[Lineage]) -> set[Path]:
    """Cached files of all outputs; a folder's are its listing and the files in it."""
    found: set[Path] = set()
    for md5 in {md5 for lineage in lineages for stage in lineage.stages for md5 in stage.outs.values()}:
        if (listing := cached_file(md5, listing=True)) is not None:
            inside = json.loads(listing.read_text(encoding="utf-8"))
            found |= {listing, *(file for entry in inside if (file := cached_file(entry["md5"])) is not None)}
        elif (file := cached_file(md5)) is not None:
            found.add(file)
    return found


def _keys(lineages: Iterable[Lineage]) -> set[bytes]:
    return used_by_all(stage for lineage in lineages for stage in lineage.stages)


def _file(stage: str, outs: Mapping[str, str]) -> Path:
    content = {path: md5 for path, md5 in outs.items() if not md5.endswith(".dir")}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
    return workspace() / _RUNS / stage / f"{digest}.json"


def _md5(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "md5").hexdigest()
