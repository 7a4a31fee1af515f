"""Stages that work in chunks write the same bytes on two Dask workers as without them."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import yaml

from flows.repository.workspace import FOLDER, STORE, VECTORS
from tests.support.clone import Clone
from tests.support.stored import forget

pytestmark = pytest.mark.soak

ON_LOCAL_CLUSTER = ("filter",)
ON_RUNNING_CLUSTER = ("write", "span", "note_qa", "embed")
CLUSTER = """
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""


@contextmanager
def running_cluster(clone: Clone, script: Path) -> Iterator[str]:
    """The address of a scheduler with two workers that find the clone's code."""
    script.write_text(CLUSTER)
    environment = clone.environment | {"PYTHONPATH": str(clone.folder)}
    with subprocess.Popen(
        [sys.executable, str(script)], cwd=clone.folder, env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as cluster:  # fmt: skip
        assert cluster.stdout is not None
        yield cluster.stdout.readline().strip()
        cluster.communicate("\n")


def run_again(clone: Clone, stage: str, where: str, params: Path) -> None:
    """Run a stage whose replies are not stored, nor a part of the vectors, in some chunks for two workers."""
    content = yaml.safe_load((clone.folder / "params.yaml").read_text())
    content["runtime"] |= {"dask": where, "dask_workers": 2, "chunk_rows": 20}
    params.write_text(yaml.safe_dump(content, sort_keys=False))
    forget(clone.folder / FOLDER / STORE, stage)
    if stage == "embed":
        with closing(sqlite3.connect(clone.folder / ".vignette" / VECTORS, isolation_level=None)) as vectors:
            assert vectors.execute("DELETE FROM vectors WHERE key < X'10'").rowcount > 0
    for path in clone.outputs(stage):
        (clone.folder / path).unlink()
    clone.vignette("stage", stage, "--params", str(params))


def chunks_done(address: str) -> int:
    """How many chunks the workers of a cluster have worked on."""
    from distributed import Client  # takes a second, which tests that do not run need not wait for

    with Client(address) as client:
        return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


def test_chunks_on_a_cluster_give_the_same_bytes(built: Clone, tmp_path: Path) -> None:
    with running_cluster(built, tmp_path / "cluster.py") as address:
        for stage in (*ON_LOCAL_CLUSTER, *ON_RUNNING_CLUSTER):
            expected, before = built.outputs(stage), chunks_done(address)
            run_again(built, stage, "local" if stage in ON_LOCAL_CLUSTER else address, tmp_path / "params.yaml")
            assert built.outputs(stage) == expected, stage
            if stage in ON_RUNNING_CLUSTER:
                assert 0 < chunks_done(address) - before <= 10, f"{stage}: only what is not stored is for the workers"
    assert built.git("status", "--porcelain") == ""
    built.vignette("server", "stop")
    assert not [line for line in built.processes() if "dask" in line or "distributed" in line]
