"""The DAG on a few records against a real model of 135 million parameters: it ends, and says honestly what came out."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pandas as pd
import pytest
import yaml

from flows.estimate import asking_stages
from schemas.errors import EndpointError
from tasks.llm.local_model import MODEL, weights
from tests.support.clone import Clone

pytestmark = pytest.mark.llm

RECORDS = 20
PORT = 8766


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    try:
        weights()
    except EndpointError as error:
        pytest.skip(str(error))
    server = subprocess.Popen([sys.executable, "-m", "tasks.llm.local_model", "--port", str(PORT)])
    address = f"http://127.0.0.1:{PORT}/v1"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            httpx.get(f"{address}/models").raise_for_status()
            break
        except httpx.HTTPError:
            time.sleep(0.5)
    yield address
    server.terminate()
    server.wait()


def test_the_dag_ends_and_counts_add_up(base_url: str, tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    params = yaml.safe_load((clone.folder / "params.yaml").read_text())
    for role in params["roles"].values():
        role |= {"base_url": base_url, "model": MODEL, "structured": "prompt", "max_tokens": 300, "reasks": 1}
    clone.set_params(
        roles=params["roles"],
        sample__records=RECORDS,
        runtime__max_unscored_share=1.0,  # a model this small fails often; that is what is to be seen
        runtime__sending={role: {"concurrency": 1, "timeout_s": 600} for role in params["roles"]},
    )
    clone.run("flows.probe", timeout=1800)
    clone.run("dvc", "repro", "span", timeout=7200)
    data = clone.folder / "data"
    prompts = pd.read_parquet(next(data.rglob("prompts.parquet")))
    notes = pd.read_parquet(next(data.rglob("notes.parquet")))
    unscored = pd.concat([pd.read_parquet(path) for path in data.rglob("unscored_*.parquet")])
    assert len(prompts) == RECORDS
    assert set(prompts["record"]) == set(notes["record"]) | set(unscored["record"].astype(int))
    assert notes["provenance"].str.contains(MODEL).all()
    print(f"\n{len(notes)} of {RECORDS} records have a note; not scored, by step and reason:")
    print(unscored.groupby(["step", "reason"]).size().sort_values(ascending=False).head(20).to_string())
    print(f"stages that ask: {', '.join(asking_stages(clone.folder / 'dvc.yaml'))}")
    print(clone.run("flows.store", "show").stdout)
