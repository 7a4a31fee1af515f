"""Runs a stage's flow beneath the flow run of its rebuild, and publishes artifacts of the stage in Prefect."""

import logging
import os
import re
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import get_client
from prefect.artifacts import acreate_link_artifact, acreate_table_artifact
from prefect.flow_engine import run_flow_async

from flows.engine.rebuild_run import rebuild_of_environment
from flows.engine.server import LOGGER
from flows.engine.stage import Stage
from tasks.tracking.lineage import StageRun


async def run_beneath_rebuild(made: Any, name: str) -> None:
    """Run a stage's flow, beneath the rebuild that started this process if there is one."""
    logging.getLogger(LOGGER).setLevel(logging.INFO)
    logging.getLogger(LOGGER).propagate = False  # not into the terminal
    rebuild = rebuild_of_environment()
    if rebuild is None:
        await made()
        return
    entry = rebuild.add(os.environ["PREFECT_API_URL"], name)
    async with get_client() as client:
        created = await client.create_flow_run(
            made, name=made.flow_run_name, tags=rebuild.tags, parent_task_run_id=UUID(entry)
        )
    await run_flow_async(made, flow_run=created, parameters={})


async def publish_artifacts(stage: Stage, run: StageRun) -> None:
    """Publish a table of what the stage wrote, used and took, and a link to each page that it wrote."""
    key = artifact_key(stage.name)
    await acreate_table_artifact(artifact_rows(run), key=key, description=f"Stage `{stage.name}`")
    for page in (path for path in stage.files.outs.values() if path.suffix == ".html"):
        link = Path(page).absolute().as_uri()
        await acreate_link_artifact(link, link_text=str(page), key=f"{key}-page", description=f"Page of `{stage.name}`")


def artifact_key(stage: str) -> str:
    """The key of a stage's artifacts: Prefect takes lowercase letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", stage.lower()).strip("-")


def artifact_rows(run: StageRun) -> list[dict[str, Any]]:
    """The rows of a stage's table artifact: quantity and value."""
    rows: list[dict[str, Any]] = [
        {"quantity": f"rows of {table}", "value": f"{count:,}"} for table, count in sorted(run.rows.items())
    ]
    tokens = f"{run.prompt_tokens:,} + {run.completion_tokens:,}"
    return [
        *rows,
        {"quantity": "unscored rows", "value": f"{run.unscored:,}"},
        {"quantity": "calls", "value": f"{run.calls:,}"},
        {"quantity": "prompt + completion tokens", "value": tokens},
        {"quantity": "dollars", "value": f"{run.dollars:.4f}"},
        {"quantity": "seconds", "value": f"{run.seconds:.1f}"},
    ]
