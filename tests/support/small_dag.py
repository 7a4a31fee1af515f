"""Every stage of dvc.yaml in one process, on few records: real stages, files and schemas, without Prefect and DVC."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

from flows.rebuild.pipeline import MAIN, needed_by, read_pipeline, stage_files
from flows.runtime.chunks import ChunkWork, Frames, cut, join
from flows.runtime.params import load_params
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.domains.in_use import in_domain
from tasks.domains.rules import rules_of
from tasks.llm.calls import Ask
from tests.support.direct import DirectAsk
from tests.support.imports import ROOT

LEFT_OUT = ("probe@writer", "probe@annotator", "probe@judge", "probe@answerer", "record")
"""Stages about endpoints and MLflow."""


class SmallStage(Stage):
    """A stage that asks the simulator in this process."""

    def ask(self, role: RoleName) -> Ask:
        return DirectAsk(self.params.roles[role].model)

    async def in_chunks(self, work: ChunkWork, frames: Frames, *, by: str = "record") -> Frames:
        chunks = cut(frames, by, self.params.runtime.chunk_rows)
        return join([await work(chunk, self.ask, self.params) for chunk in chunks])


@contextmanager
def small_dag(folder: Path, domain: str, **sections: dict) -> Iterator["SmallDag"]:
    """A folder like the repository's root, as the working directory, with ``sections`` of params.yaml changed."""
    for name in (".dvc", "tasks", "fingerprints", "returned", "evaluations", "dvc.yaml", "flows", "schemas"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "reports" / "tables").mkdir(parents=True)
    (folder / "reports" / "published").symlink_to(ROOT / "reports" / "published")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with in_domain(domain):
            params = load_params(ROOT / "params.yaml").model_copy(update={"domain": domain})
            changed = {name: getattr(params, name).model_copy(update=section) for name, section in sections.items()}
        with in_domain(domain):
            yield SmallDag(params.model_copy(update=changed))
    finally:
        os.chdir(before)


class SmallDag:
    """The stages of dvc.yaml with ``params``, in the working directory."""

    def __init__(self, params: Params) -> None:
        self.params = params
        stages = read_pipeline(MAIN)
        order = TopologicalSorter(needed_by(stages)).static_order()
        self.names = [name for name in order if name not in LEFT_OUT]

    @property
    def symptoms(self) -> tuple[str, ...]:
        """The symptoms of the domain."""
        return rules_of(self.params.domain).symptoms

    def run(self, names: Sequence[str] | None = None) -> None:
        """Run the stages in order."""
        for name in names or self.names:
            module = import_module(f"flows.stages.{name}")
            stage = SmallStage(stage_files(MAIN, name), self.params)
            asyncio.run(module.run(stage))
