"""A stage on workers that share no disk, only an object store and a database, writes the bytes of one process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from flows.rebuild.dvc_stage import NO_MORE_CALLS
from tasks.domains.rules import load_rules
from tasks.notes.prompting import build_prompts
from tests.support.clone import Clone
from tests.support.postgres import create_database, postgres_server, programs
from tests.support.records import NETWORK, random_records
from tests.support.stored import kept

SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"


@contextmanager
def object_store(bucket: str) -> Iterator[dict[str, str]]:
    """Serve an empty bucket; yields the environment with which clients reach it."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        boto3.client("s3").create_bucket(Bucket=bucket)
        yield environment
    finally:
        server.stop()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed: apt-get install postgresql"),
]

RECORDS, CHUNK = 24, 4
NOTES = Path("data/write/first_notes.parquet")


@contextmanager
def workers(scheduler: str, trees: list[Clone]) -> Iterator[list[Path]]:
    """A Dask worker in each tree; yields their logs."""
    from distributed import Client  # takes a second, which tests that do not run need not wait for

    command = [sys.executable, "-m", "dask", "worker", scheduler, "--nthreads", "1", "--no-dashboard"]
    logs = [tree.folder.with_suffix(".log") for tree in trees]
    with ExitStack() as stack:
        for tree, log in zip(trees, logs, strict=True):
            sink = stack.enter_context(log.open("wb"))
            worker = subprocess.Popen(command, cwd=tree.folder, env=tree.environment, stdout=sink, stderr=sink)
            stack.callback(worker.wait, 30)
            stack.callback(worker.terminate)
        with Client(scheduler) as client:
            client.wait_for_workers(len(trees), timeout=120)
        yield logs


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    """A clone whose prompts are written."""
    made = Clone(tmp_path / "clone")
    prompts = made.folder / "data" / "prompt" / "prompts.parquet"
    prompts.parent.mkdir(parents=True)
    build_prompts(random_records(RECORDS), NETWORK, load_rules(), seed=7).to_parquet(prompts, index=False)
    made.vignette("probe")
    yield made
    made.vignette("server", "stop")


def test_two_workers_without_a_shared_disk_write_the_bytes_of_one_process(clone: Clone, tmp_path: Path) -> None:
    from distributed import Client, LocalCluster

    clone.vignette("stage", "write")
    expected = (clone.folder / NOTES).read_bytes()
    (clone.folder / NOTES).unlink()
    (clone.folder / ".vignette" / "responses.sqlite").unlink()
    trees = [clone.cloned(tmp_path / name) for name in ("first", "second")]
    with (
        object_store("chunks"),
        postgres_server() as server,
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
    ):
        store = create_database(server, "replies")
        machines = {"dask": cluster.scheduler_address, "chunks_url": "s3://chunks/exchange", "store": store}
        with workers(cluster.scheduler_address, trees) as logs:
            done = run_write(clone, machines | {"chunk_rows": CHUNK})
            assert (clone.folder / NOTES).read_bytes() == expected
            assert kept(store) >= RECORDS
            assert objects("chunks") == []
            with Client(cluster.scheduler_address) as client:
                done_by = client.run(lambda dask_worker: dask_worker.state.executed_count)
            assert len(done_by) == 2 and min(done_by.values()) > 0, f"a worker got no chunk: {done_by}"
            (trees[1].folder / "tasks" / "text" / "sections.py").open("a").write("\n# changed\n")
        changed = workers(cluster.scheduler_address, trees[1:])
        with changed:
            refused = run_write(clone, machines, check=False)
    assert not (clone.folder / ".vignette" / "responses.sqlite").exists()
    assert refused.returncode == NO_MORE_CALLS and "has other code than stage write" in refused.stderr
    said = [done.stdout, done.stderr, refused.stderr, *(log.read_text() for log in logs)]
    assert not [text for text in said if SECRET in text]


def run_write(clone: Clone, runtime: dict[str, object], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    params = yaml.safe_load((clone.folder / "params.yaml").read_text())
    params["runtime"] |= runtime
    file = clone.folder / "machines.yaml"
    file.write_text(yaml.safe_dump(params, sort_keys=False))
    return clone.vignette("stage", "write", "--params", str(file), check=check)


def objects(bucket: str) -> list[str]:
    import boto3

    return [entry["Key"] for entry in boto3.client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])]
