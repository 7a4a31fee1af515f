"""Writes lineages to MLflow and reads them: one parent run per lineage, one nested run per stage.

The parent run holds headline figures, costs, params, metric tables and the report, so that the runs of two
lineages can be compared in MLflow's pages. Writing is idempotent on the lineage id: a complete lineage is kept, an
incomplete one is replaced.
"""

import json
import math
import sqlite3
import time
from collections.abc import Collection, Mapping
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.entities import Metric, Param, Run
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from tasks.tracking.lineage import Lineage, StageLineage, recorded_mark
from tasks.tracking.recording import (
    COUNTS,
    TOTAL,
    Recording,
    flat_params,
    lineage_metrics,
    lineage_params,
    named,
    stage_metrics,
)
from tasks.transport.shown import sqlite_url

_FINGERPRINT = "fingerprint."
_MODEL = "model."
_TAG_LENGTH = 5000
_PARAMS_AT_ONCE = 100  # MLflow's limit
_METRICS_AT_ONCE = 900  # below MLflow's limit of 1,000


class LineageStore:
    """Lineages in the MLflow sqlite store ``folder``/mlflow.db, with artifacts in the same folder."""

    def __init__(self, folder: Path, experiment: str) -> None:
        self._folder, self.uri = folder, sqlite_url((folder / "mlflow.db").absolute())
        with chdir(folder):  # of a quoted address, MLflow makes a folder in the working directory
            self._client = MlflowClient(tracking_uri=self.uri)
            found = self._client.get_experiment_by_name(experiment)
        location = (folder / "mlflow-artifacts").absolute().as_uri()  # a relative one would depend on the directory
        create = self._client.create_experiment
        self.experiment_id = found.experiment_id if found else str(create(experiment, artifact_location=location))
        if found and found.artifact_location != location:
            self._move_artifacts(found.artifact_location, location)

    def _move_artifacts(self, before: str, now: str) -> None:
        """Look for artifacts in this folder, after the clone was moved or copied: MLflow keeps whole paths."""
        with closing(sqlite3.connect(self._folder / "mlflow.db")) as database, database:
            for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
                database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (before, now))

    def find(self, lineage_id: str) -> Run | None:
        """Parent run of a lineage, finished or not; None if there is none."""
        runs = self._search(f"tags.lineage = '{lineage_id}' and tags.level = 'lineage'")
        return runs[0] if runs else None

    def has(self, lineage_id: str) -> bool:
        """Whether the lineage is recorded completely."""
        run = self.find(lineage_id)
        return run is not None and run.info.status == "FINISHED"

    def write(self, lineage: Lineage, recording: Recording) -> bool:
        """Write a lineage. Returns False if it is already recorded.

        ``recording.tags`` are set on every run: git revision, role fingerprints, environment, provenance.
        """
        is_new = not self.has(lineage.id)
        if is_new:
            self.remove(lineage.id)
            seconds = sum(run.seconds for run in recording.runs.values())
            parent = self._start(recording.name, lineage.id, {**recording.tags, "level": "lineage"}, seconds)
            self._client.log_text(parent, lineage.as_json(), "lineage.json")
            self._log(parent, lineage_metrics(recording), lineage_params(lineage, recording))
            for table in recording.tables:
                self._client.log_table(parent, pd.read_csv(table), f"tables/{table.stem}.json")
            for place, file in recording.files.items():
                self._client.log_artifact(parent, str(file), place)
            for stage in lineage.stages:
                self._write_stage(stage, parent, lineage.id, recording)
            # The parent is finished last, so a FINISHED parent implies that all stages are written.
            self._client.set_terminated(parent)
        mark = recorded_mark(self._folder, lineage.id)
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
        return is_new

    def _write_stage(self, stage: StageLineage, parent: str, lineage_id: str, recording: Recording) -> None:
        own = {**recording.tags, "level": "stage", "stage": stage.name, MLFLOW_PARENT_RUN_ID: parent}
        own |= {f"dep.{path}": digest for path, digest in stage.deps.items()}
        measured = recording.runs.get(stage.name)
        run_id = self._start(stage.name, lineage_id, own, 0.0 if measured is None else measured.seconds)
        self._log(run_id, stage_metrics(stage.name, recording), flat_params(stage.params))
        self._client.set_terminated(run_id)

    def _log(self, run_id: str, metrics: Mapping[str, float], params: Mapping[str, str]) -> None:
        entries = [Param(name, value[:_TAG_LENGTH]) for name, value in params.items()]
        for start in range(0, len(entries), _PARAMS_AT_ONCE):
            self._client.log_batch(run_id, params=entries[start : start + _PARAMS_AT_ONCE])
        logged = [Metric(name, float(value), timestamp=0, step=0) for name, value in metrics.items()]
        for start in range(0, len(logged), _METRICS_AT_ONCE):
            self._client.log_batch(run_id, metrics=logged[start : start + _METRICS_AT_ONCE])

    def content(self, lineage_id: str) -> dict[str, Any] | None:
        """The recorded lineage.json of a lineage id or unique prefix; None if there is none."""
        ids = [row["lineage"] for row in self.overview() if row["lineage"].startswith(lineage_id)]
        run = self.find(ids[0]) if len(ids) == 1 else None
        if run is None:
            return None
        file = self._client.download_artifacts(run.info.run_id, "lineage.json")
        loaded: dict[str, Any] = json.loads(Path(file).read_text(encoding="utf-8"))
        return loaded

    def identities(self, lineage_id: str) -> dict[str, dict[str, Any]]:
        """Model identity and epoch of each role in a recorded lineage, by role."""
        run = self.find(lineage_id)
        tags = {} if run is None else run.data.tags
        return {role: json.loads(content) for role, content in _beginning(_FINGERPRINT, tags).items()}

    def costs(self, lineage_id: str, asking: Collection[str] = ()) -> dict[str, float]:
        """Calls, tokens and dollars of a recorded lineage: ``<stage>.calls`` and so on; empty if it has none.

        NaN for stages ``asking`` models that were not measured, as those taken from a cache of several clones.
        """
        return {
            f"{stage}.{name}": metrics.get(name, math.nan)
            for stage, metrics in self.metrics(lineage_id).items()
            for name in COUNTS
            if metrics.get("calls", stage in asking)
        }

    def headlines(self, lineage_id: str) -> dict[str, float]:
        """Headline figures of a recorded lineage, by ``group/name``."""
        run = self.find(lineage_id)
        metrics = {} if run is None else run.data.metrics
        return {name: value for name, value in sorted(metrics.items()) if not name.startswith(TOTAL)}

    def overview(self) -> list[dict[str, Any]]:
        """All complete lineages, newest first: id, git revision, experiment, models by role, end in milliseconds."""
        runs = [run for run in self._search("tags.level = 'lineage'") if run.info.status == "FINISHED"]
        return [
            {
                "lineage": run.data.tags["lineage"],
                "revision": run.data.tags.get("git.revision", ""),
                "experiment": run.data.tags.get("dvc.experiment", ""),
                "models": _beginning(_MODEL, run.data.params),
                "recorded": run.info.end_time,
            }
            for run in sorted(runs, key=lambda run: -run.info.end_time)
        ]

    def metrics(self, lineage_id: str) -> dict[str, dict[str, float]]:
        """Metrics of a lineage, by stage and metric name."""
        runs = self._search(f"tags.lineage = '{lineage_id}' and tags.level = 'stage'")
        return {run.data.tags["stage"]: dict(run.data.metrics) for run in runs}

    def attach(self, lineage_id: str, file: Path, place: str) -> bool:
        """Add a file to a lineage's parent run, in folder ``place`` of its artifacts; False if it is not recorded."""
        run = self.find(lineage_id)
        if run is not None:
            self._client.log_artifact(run.info.run_id, str(file), place)
        return run is not None

    def remove(self, lineage_id: str) -> None:
        """Delete a lineage's runs."""
        recorded_mark(self._folder, lineage_id).unlink(missing_ok=True)
        for run in self._search(f"tags.lineage = '{lineage_id}'"):
            self._client.delete_run(run.info.run_id)

    def rename(self, lineage_id: str, name: str, tags: Mapping[str, str]) -> None:
        """Give a lineage's parent run another name, and set tags."""
        run = self.find(lineage_id)
        if run is not None:
            self._client.update_run(run.info.run_id, name=name)
            for key, value in tags.items():
                self._client.set_tag(run.info.run_id, key, value)

    def _start(self, name: str, lineage_id: str, tags: Mapping[str, str], seconds: float) -> str:
        """Create a run that lasts ``seconds`` when it is ended now, so that MLflow shows the measured duration."""
        clean = {key[:250]: str(value)[:_TAG_LENGTH] for key, value in named(tags).items()}
        start = round((time.time() - seconds) * 1000)
        tags = {**clean, "lineage": lineage_id}
        run = self._client.create_run(self.experiment_id, start_time=start, tags=tags, run_name=name)
        return str(run.info.run_id)

    def _search(self, query: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self._client.search_runs([self.experiment_id], query, page_token=token)
            runs.extend(page)
            token = page.token
            if not token:
                return runs


def _beginning(prefix: str, entries: Mapping[str, str]) -> dict[str, str]:
    """The entries whose names begin so, by the rest of the name."""
    return {name.removeprefix(prefix): entry for name, entry in sorted(entries.items()) if name.startswith(prefix)}
