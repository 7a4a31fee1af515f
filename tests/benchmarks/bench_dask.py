"""Stages on one and on two Dask workers: `write` against an endpoint of 200 ms, `filter` against the simulator."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from flows.runtime.simulator_server import SimulatorServer
from tests.benchmarks.comparison import row
from tests.support.clone import Clone
from tests.support.delayed import delayed

RECORDS, CHUNK, LATENCY_S, IN_FLIGHT = 600, 50, 0.2, 4


def benches() -> Iterator[dict[str, Any]]:
    """Seconds of a stage's work on two workers, against one; the start of cluster and process is left out."""
    with TemporaryDirectory() as folder, SimulatorServer(workers=1) as simulator, delayed(simulator, LATENCY_S) as url:
        clone = Clone(Path(folder))
        clone.set_params(sample__records=RECORDS, runtime__chunk_rows=CHUNK)
        clone.vignette("probe")
        for stage in ("sample", "prompt", "write"):
            clone.vignette("stage", stage)
        try:
            one, two = (_seconds(clone, "filter", workers) for workers in (1, 2))
            yield row("two Dask workers, filter with the simulator", two, one, "one worker", "s", RECORDS)
            clone.set_params(roles__writer__base_url=url, runtime__sending={"writer": {"concurrency": IN_FLIGHT}})
            clone.vignette("probe", "--role", "writer")
            one, two = (_seconds(clone, "write", workers) for workers in (1, 2))
            yield row("two Dask workers, 200 ms a call", two, one, "one worker", "s", RECORDS)
        finally:
            clone.vignette("server", "stop")


def _seconds(clone: Clone, stage: str, workers: int) -> float:
    """Seconds of the stage's work with no reply stored."""
    clone.vignette("store", "prune", "--stage", stage, "--yes")
    params = yaml.safe_load((clone.folder / "params.yaml").read_text())
    params["runtime"] |= {"dask": "local", "dask_workers": workers}
    (clone.folder / "dask.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    begun = time.time()
    clone.vignette("stage", stage, "--params", "dask.yaml")
    runs = (clone.folder / ".vignette" / "runs" / stage).glob("*.json")
    (run,) = (file for file in runs if file.stat().st_mtime >= begun)
    return float(json.loads(run.read_text())["seconds"])
