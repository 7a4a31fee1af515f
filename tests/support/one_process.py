"""Runs the stages of a pipeline one after another in this process: without Prefect, DVC's runs and an endpoint."""

import asyncio
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pandas as pd

from flows.repository.pipeline import MAIN, needed_by, read_pipeline, stage_files, stage_function
from flows.runtime.chunks import ChunkWork, Frames, cut, join
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.domains.in_use import in_domain
from tasks.llm.calls import Ask
from tests.support.imports import ROOT
from tests.support.scripted import DirectAsk

ABOUT_THE_RUN = ("probe@writer", "probe@annotator", "probe@judge", "probe@answerer", "code", "record")
"""Stages about endpoints, code and MLflow."""


class InProcess(Stage):
    """A stage that asks the simulator in this process, and reads and writes its declared files.

    ``counted``: of how many rows those of each table of unscored ones are.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.counted = list[dict[str, Any]]()

    def ask(self, role: RoleName) -> Ask:
        return DirectAsk(self.params.roles[role].model)

    def save_unscored(self, stem: str, frame: pd.DataFrame, *, of: int, uncounted: pd.DataFrame | None = None) -> None:
        self.counted.append({"stage": self.name, "table": stem, "unscored": len(frame), "of": of})
        super().save_unscored(stem, frame, of=of, uncounted=uncounted)

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames:
        chunks = cut(frames, by, self.params.runtime.chunk_rows)
        return join([await work(chunk, self.ask, self.params) for chunk in chunks])


@contextmanager
def like_the_root(folder: Path) -> Iterator[None]:
    """Make a folder like the repository's root, as the working directory."""
    for name in (".dvc", "tasks", "fingerprints", "returned", "evaluations", "dvc.yaml", "flows", "schemas", "tests"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    (folder / "reports" / "tables").mkdir(parents=True)
    (folder / "reports" / "published").symlink_to(ROOT / "reports" / "published")
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def run_stages(
    params: Params,
    pipeline: Path = MAIN,
    *,
    left_out: Collection[str] = ABOUT_THE_RUN,
    kind: type[InProcess] = InProcess,
) -> pd.DataFrame:
    """Run the stages of a pipeline in the working directory, in an order that its graph allows.

    Returns of how many rows, by stage and table, the unscored ones are.
    """
    counted = list[dict[str, Any]]()
    with in_domain(params.domain):
        for name in TopologicalSorter(needed_by(read_pipeline(pipeline))).static_order():
            if name not in left_out:
                stage = kind(stage_files(pipeline, name), params)
                asyncio.run(_run(stage))
                counted += stage.counted
    return pd.DataFrame(counted)


async def _run(stage: InProcess) -> None:
    try:
        await stage_function(stage.name)(stage)
    finally:
        await stage.close()
