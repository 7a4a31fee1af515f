"""What is recorded of a lineage: its name, figures, params and costs. Pure functions."""

import hashlib
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tasks.tracking.differences import flatten
from tasks.tracking.lineage import Lineage, StageLineage, StageRun

COUNTS = ("calls", "prompt_tokens", "completion_tokens", "dollars", "seconds")
"""Measured amounts that add up over stages."""
TOTAL = "total/"
"""Begins the name of such an amount of all stages of a lineage; the other metrics of its run are headline figures."""

_FORBIDDEN = re.compile(r"[^\w\-. /:]")
_NAME_LENGTH = 240  # MLflow's limit is 250


@dataclass(frozen=True)
class Recording:
    """Everything that is recorded of a lineage beyond dvc.lock.

    ``models``: the model that answered each role; ``headlines``: figures by group and name; ``headline_stages``: the
    stage of each group; ``tables``: metric tables; ``files``: further artifacts by their place in the run.
    """

    name: str
    tags: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    headlines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    headline_stages: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, StageRun] = field(default_factory=dict)
    tables: Sequence[Path] = ()
    files: Mapping[str, Path] = field(default_factory=dict)


def lineage_metrics(recording: Recording) -> dict[str, float]:
    """Metrics of the parent run: every headline figure, and measured amounts summed over stages."""
    found = {
        f"{group}/{name}": value for group, figures in recording.headlines.items() for name, value in figures.items()
    }
    if recording.runs:
        found |= {f"{TOTAL}{name}": sum(getattr(run, name) for run in recording.runs.values()) for name in COUNTS}
    return named(found)


def stage_metrics(stage: str, recording: Recording) -> dict[str, float]:
    """Metrics of a stage's run: its headline figures and measured amounts."""
    groups = [group for group, owner in recording.headline_stages.items() if owner == stage]
    found = {f"{group}/{name}": value for group in groups for name, value in recording.headlines[group].items()}
    run = recording.runs.get(stage)
    if run is not None:
        found |= {name: getattr(run, name) for name in (*COUNTS, "unscored")}
        found |= {f"rows/{table}": rows for table, rows in run.rows.items()}
    return named(found)


def lineage_params(lineage: Lineage, recording: Recording) -> dict[str, str]:
    """Params of all stages, by dotted name, and the model of each role as ``model.<role>``."""
    found: dict[str, Any] = {f"model.{role}": model for role, model in recording.models.items()}
    for stage in lineage.stages:
        found |= flat_params(stage.params)
    return dict(sorted(found.items()))


def flat_params(params: Mapping[str, Any]) -> dict[str, str]:
    """Nested params by dotted name, as text."""
    return dict(sorted(named({name: str(value) for name, value in flatten(dict(params))}).items()))


def named(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries under names that MLflow accepts; a digest is appended to a name that would be a duplicate."""
    found: dict[str, Any] = {}
    for key, value in entries.items():
        name = posixpath.normpath(f"/{_FORBIDDEN.sub('_', key)[:_NAME_LENGTH]}").lstrip("/") or "_"  # it is a path
        if name in found:
            name = f"{name} {hashlib.sha256(key.encode()).hexdigest()[:8]}"
        found[name] = value
    return found


def headline_stages(tables: Mapping[str, str], stages: Iterable[StageLineage]) -> dict[str, str]:
    """The stage of each group of headline figures, from the metric table (stem) that the group is read from."""
    makers = {Path(path).stem: stage.name for stage in stages for path in stage.outs if path.endswith(".csv")}
    return {group: makers[table] for group, table in tables.items() if table in makers}
