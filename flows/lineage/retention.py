"""Finds what only lineages to be forgotten use: cached files, replies in the store, tags."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from flows.lineage.lineage import NamedLineage, find_lineage
from flows.repository.cache import cached_file
from flows.repository.git import references, show
from flows.repository.kept_runs import used_by_all
from flows.repository.pipeline import MAIN
from tasks.tracking.lineage import Lineage

TAG = "lineage/"


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
