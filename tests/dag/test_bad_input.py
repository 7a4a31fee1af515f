"""User errors give a one-line message and change no file.

Errors found before anything is built are tested on a clone without a run, errors found within a stage on the clone in
which the whole DAG ran.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator

import pandas as pd
import pytest
from starlette.responses import JSONResponse

from tests.support.clone import Clone
from tests.support.hosted import hosted

pytestmark = pytest.mark.dag


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone without a run."""
    return Clone(tmp_path_factory.mktemp("bare") / "vignette")


@pytest.fixture
def params(bare: Clone) -> Iterator[Clone]:
    """The clone; its params are restored after the test."""
    yield bare
    bare.git("checkout", "-q", "HEAD~1", "--", "params.yaml")
    bare.git("commit", "-qam", "params back")


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The single line on standard error of a failed run."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode not in (0, None)
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"runtime__chunk_rowz": 3}, ["params.yaml", "unknown key runtime.chunk_rowz"]),
        ({"sample__records": "many"}, ["params.yaml", "sample.records is 'many'", "expected a valid integer"]),
        ({"roles__judge__base_url": "http://127.0.0.1:9/v1"}, ["role judge", "http://127.0.0.1:9/v1"]),
        ({"roles__judge__model": "no-such-model"}, ["no-such-model", "vignette-judge"]),
    ],
)
def test_bad_params_are_one_line_before_anything_is_built(params: Clone, change: dict, words: list[str]) -> None:
    params.set_params(**change)
    line = one_line(params.vignette("repro", check=False))
    assert [word for word in words if word not in line] == []
    assert params.git("status", "--porcelain", "--untracked-files=no", "--", "reports", "dvc.lock") == ""
    assert not (params.folder / "data").exists()


def test_a_missing_key_is_named_by_its_variable(params: Clone) -> None:
    refusal = JSONResponse({"error": {"message": "You did not provide an API key."}}, 401)
    with hosted(lambda *_: refusal) as endpoint:
        params.set_params(
            roles__judge={"base_url": endpoint.base_url, "model": "gpt-x"},
            runtime__sending={"judge": {"api_key_env": "NO_SUCH_KEY_HERE"}},
        )
        line = one_line(params.vignette("repro", check=False))
    assert endpoint.base_url in line and "NO_SUCH_KEY_HERE is not set" in line


def files_of(clone: Clone) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in (clone.folder / "data").rglob("*") if file.is_file()}


def test_a_table_without_a_column_is_named_and_outputs_stay(built: Clone) -> None:
    table = built.folder / "data" / "sample" / "records.parquet"
    kept = table.with_suffix(".kept")
    shutil.copy2(table, kept)
    before = files_of(built)
    try:
        table.unlink()  # it may be a link into the cache
        pd.read_parquet(kept).drop(columns="cough").to_parquet(table)
        line = one_line(built.vignette("stage", "split", check=False))
    finally:
        table.unlink()
        shutil.copy2(kept, table)
    assert "records.parquet" in line and "missing ['cough']" in line
    assert files_of(built) == before
    kept.unlink()


def test_a_full_disk_is_one_line_and_leaves_the_earlier_output(built: Clone) -> None:
    before = files_of(built)
    built.vignette("stage", "split")  # starts the server, which writes more than the limit below allows
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 8; exec {sys.executable} -m flows.commands.cli stage prompt"],
        cwd=built.folder, env=built.environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    line = one_line(done)
    assert "prompts.parquet: could not be written" in line and "free space" in line
    assert files_of(built) == before
    assert not list((built.folder / "data").rglob("*.partial"))
