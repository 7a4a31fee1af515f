"""Writes lineages to MLflow and reads them: one parent run per lineage, one nested run per stage.

The only module that imports mlflow. Writing is idempotent on the lineage id: a complete lineage is kept, an incomplete
one is replaced.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pandas as pd
from mlflow.entities import Metric, Param, Run
from mlflow.tracking import MlflowClient

from tasks.tracking.lineage import Lineage, StageLineage

_FORBIDDEN = re.compile(r"[^\w\-. /:]")
_COST = "cost."
_FINGERPRINT = "fingerprint."
_PARENT_TAG = "mlflow.parentRunId"
_NAME_LENGTH = 240  # MLflow's limit is 250
_BATCH = 900  # below MLflow's limit of 1,000 metrics a call
_TAG_LENGTH = 5000
_KEY_COLUMNS = ["system", "condition", "item", "metric"]


class LineageStore:
    """Lineages in the MLflow sqlite store ``folder``/mlflow.db, with artifacts in the same folder."""

    def __init__(self, folder: Path, experiment: str) -> None:
        self._client = MlflowClient(tracking_uri=f"sqlite:///{(folder / 'mlflow.db').absolute()}")
        found = self._client.get_experiment_by_name(experiment)
        self.experiment_id = found.experiment_id if found else self._create(folder, experiment)

    def _create(self, folder: Path, experiment: str) -> str:
        # A relative location would depend on the working directory.
        location = (folder / "mlflow-artifacts").absolute().as_uri()
        return str(self._client.create_experiment(experiment, artifact_location=location))

    def find(self, lineage_id: str) -> Run | None:
        """Parent run of a lineage, finished or not; None if there is none."""
        runs = self._search(f"tags.lineage = '{lineage_id}' and tags.level = 'lineage'")
        return runs[0] if runs else None

    def has(self, lineage_id: str) -> bool:
        """Whether the lineage is recorded completely."""
        run = self.find(lineage_id)
        return run is not None and run.info.status == "FINISHED"

    def write(self, lineage: Lineage, tables: Mapping[str, list[Path]], tags: Mapping[str, str]) -> bool:
        """Write a lineage and its metric tables (files by stage). Returns False if it is already recorded.

        ``tags`` are set on every run: git revision, role fingerprints, environment, provenance.
        """
        if self.has(lineage.id):
            return False
        self._remove_partial(lineage.id)
        parent = self._start("lineage", lineage.id, {**tags, "level": "lineage"})
        self._client.log_text(parent, lineage.as_json(), "lineage.json")
        for stage in lineage.stages:
            self._write_stage(stage, parent, lineage.id, tables.get(stage.name, []), tags)
        # The parent is finished last, so a FINISHED parent implies that all stages are written.
        self._client.set_terminated(parent)
        return True

    def write_evaluation(self, name: str, folder: Path, metrics: pd.DataFrame) -> bool:
        """Write one evaluation, whose files are in ``folder``; returns False if the same one is already recorded.

        It is identified by its manifest, which holds the hashes of all other files.
        """
        content = (folder / "manifest.json").read_bytes()
        identity = hashlib.sha256(content).hexdigest()[:16]
        if self._search(f"tags.evaluation = '{identity}' and attributes.status = 'FINISHED'"):
            return False
        manifest = json.loads(content)
        run = self._client.create_run(self.experiment_id, tags={"evaluation": identity}, run_name=name).info.run_id
        params = _named(_flat({key: manifest[key] for key in ("evaluation", "params", "models", "code", "documents")}))
        for start in range(0, len(params), 100):
            some = list(params.items())[start : start + 100]
            self._client.log_batch(run, params=[Param(key, str(value)[:_TAG_LENGTH]) for key, value in some])
        entries = _metrics(metrics)
        for start in range(0, len(entries), _BATCH):
            self._client.log_batch(run, metrics=entries[start : start + _BATCH])
        for file in ("manifest.json", "tables/metrics.csv", "tables/comparisons.csv"):  # not the texts
            self._client.log_artifact(run, str(folder / file))
        self._client.set_terminated(run)
        return True

    def content(self, lineage_id: str) -> dict[str, Any] | None:
        """The recorded lineage.json of a lineage id or unique prefix; None if there is none."""
        ids = [row["lineage"] for row in self.overview() if row["lineage"].startswith(lineage_id)]
        run = self.find(ids[0]) if len(ids) == 1 else None
        if run is None:
            return None
        loaded: dict[str, Any] = json.loads(
            Path(unquote(urlparse(run.info.artifact_uri).path), "lineage.json").read_text()
        )
        return loaded

    def identities(self, lineage_id: str) -> dict[str, dict[str, Any]]:
        """Model identity and epoch of each role in a recorded lineage, by role."""
        run = self.find(lineage_id)
        tags = {} if run is None else run.data.tags
        return {
            name.removeprefix(_FINGERPRINT): json.loads(content)
            for name, content in sorted(tags.items())
            if name.startswith(_FINGERPRINT)
        }

    def costs(self, lineage_id: str) -> dict[str, float]:
        """Calls, tokens and dollars of a recorded lineage: ``<stage>.calls`` and so on; empty if it has none."""
        run = self.find(lineage_id)
        tags = {} if run is None else run.data.tags
        return {name.removeprefix(_COST): float(value) for name, value in tags.items() if name.startswith(_COST)}

    def overview(self) -> list[dict[str, Any]]:
        """All complete lineages, newest first: id, git revision, experiment name, milliseconds since 1970."""
        runs = [run for run in self._search("tags.level = 'lineage'") if run.info.status == "FINISHED"]
        return [
            {
                "lineage": run.data.tags["lineage"],
                "revision": run.data.tags.get("git.revision", ""),
                "experiment": run.data.tags.get("dvc.experiment", ""),
                "recorded": run.info.start_time,
            }
            for run in sorted(runs, key=lambda run: -run.info.start_time)
        ]

    def metrics(self, lineage_id: str) -> dict[str, dict[str, float]]:
        """Metrics of a lineage, by stage and metric name."""
        runs = self._search(f"tags.lineage = '{lineage_id}' and tags.level = 'stage'")
        return {run.data.tags["stage"]: dict(run.data.metrics) for run in runs}

    def _write_stage(
        self, stage: StageLineage, parent: str, lineage_id: str, tables: list[Path], tags: Mapping[str, str]
    ) -> None:
        own = {**tags, "level": "stage", "stage": stage.name, _PARENT_TAG: parent}
        own |= {f"dep.{path}": digest for path, digest in stage.deps.items()}
        own |= {f"out.{path}": digest for path, digest in stage.outs.items()}
        run_id = self._start(stage.name, lineage_id, own)
        params = [Param(name, str(value)[:_TAG_LENGTH]) for name, value in sorted(_named(_flat(stage.params)).items())]
        for start in range(0, len(params), 100):
            self._client.log_batch(run_id, params=params[start : start + 100])
        for table in tables:
            self._client.log_artifact(run_id, str(table), "tables")
            metrics = _metrics(pd.read_csv(table))
            for start in range(0, len(metrics), _BATCH):
                self._client.log_batch(run_id, metrics=metrics[start : start + _BATCH])
        self._client.set_terminated(run_id)

    def _start(self, name: str, lineage_id: str, tags: Mapping[str, str]) -> str:
        clean = {_FORBIDDEN.sub("_", key)[:250]: str(value)[:_TAG_LENGTH] for key, value in tags.items()}
        run = self._client.create_run(self.experiment_id, tags={**clean, "lineage": lineage_id}, run_name=name)
        return str(run.info.run_id)

    def _remove_partial(self, lineage_id: str) -> None:
        for run in self._search(f"tags.lineage = '{lineage_id}'"):
            self._client.delete_run(run.info.run_id)

    def _search(self, query: str) -> list[Run]:
        runs: list[Run] = []
        token = None
        while True:
            page = self._client.search_runs([self.experiment_id], query, page_token=token)
            runs.extend(page)
            token = page.token
            if not token:
                return runs

    def tag(self, lineage_id: str, name: str, value: str) -> None:
        """Add a tag to a lineage's parent run."""
        run = self.find(lineage_id)
        if run is not None:
            self._client.set_tag(run.info.run_id, name, value)


def _metrics(table: pd.DataFrame) -> list[Metric]:
    """Metrics of a long-form table: the value under its key, the interval under ``<key>.low`` and ``.high``."""
    if not {*_KEY_COLUMNS, "value"} <= set(table.columns):
        return []
    entries: dict[str, float] = {}
    for row in table.to_dict("records"):
        name = "/".join(str(row[column]) for column in _KEY_COLUMNS)
        for suffix, column in (("", "value"), (".low", "low"), (".high", "high")):
            if isinstance(row[column], float | int) and not math.isnan(row[column]):
                entries[name + suffix] = float(row[column])
    return [Metric(name, value, timestamp=0, step=0) for name, value in sorted(_named(entries).items())]


def _named(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries under names that MLflow accepts; a digest is appended to a name that would be a duplicate."""
    named: dict[str, Any] = {}
    for key, value in entries.items():
        name = _FORBIDDEN.sub("_", key)[:_NAME_LENGTH]
        if name in named:
            name = f"{name} {hashlib.sha256(key.encode()).hexdigest()[:8]}"
        named[name] = value
    return named


def _flat(params: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in params.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
