"""All tables are split into chunks by the same values, and results come back in order."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from flows.commands.stage import _task_runner
from flows.repository.params import COLLECT
from flows.repository.pipeline import StageFiles
from flows.runtime import stage as stage_module
from flows.runtime.chunks import CHUNKS_AT_ONCE, Frames, cut, join, worth_retrying
from flows.runtime.dask_chunks import Job, remote_chunk
from flows.runtime.stage import Stage
from schemas.errors import BudgetError, IdentityError
from tests.support.params import shipped


def test_tables_are_cut_by_the_same_records() -> None:
    notes = pd.DataFrame({"record": [4, 0, 2], "note": ["e", "a", "c"]})
    spans = pd.DataFrame({"record": [2, 2, 4], "start": [1, 5, 3]})
    first, second = cut({"notes": notes, "spans": spans}, "record", 2)
    assert sorted(first["notes"]["record"]) == [0, 2]
    assert list(first["spans"]["start"]) == [1, 5]
    assert list(second["notes"]["note"]) == ["e"]
    lost = pd.DataFrame({"record": pd.Series(dtype="str")})
    joined = join([{**part, "lost": lost} for part in (first, second)])
    assert list(joined["notes"]["note"]) == ["a", "c", "e"] and joined["notes"].index.tolist() == [0, 1, 2]
    assert joined["lost"].equals(lost)


@pytest.mark.parametrize("dask", [None, "local"])
def test_a_stage_that_collects_requests_works_on_its_whole_table_at_once_in_one_process(
    dask: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work: list[int] = []

    async def run_here(name: str, work: Any, chunks: list[Frames], *_: Any, at_once: int, **_more: Any) -> list[Frames]:
        at_work.append(at_once)
        return chunks

    monkeypatch.setattr(stage_module, "run_here", run_here)
    params, table = shipped(runtime={"chunk_rows": 3, "dask": dask}), {"notes": pd.DataFrame({"record": range(12)})}
    stage = Stage(StageFiles("write", {"writer": Path("fingerprints/writer.json")}, {}), params)
    if dask is None:
        asyncio.run(stage.in_chunks(None, table))  # type: ignore[arg-type]
    assert at_work == ([] if dask else [CHUNKS_AT_ONCE]) and (_task_runner(params) is None) == (dask is None)
    monkeypatch.setenv(COLLECT, "1")
    asyncio.run(stage.in_chunks(None, table))  # type: ignore[arg-type]
    assert at_work[-1] == 4 and _task_runner(params) is None


def test_a_worker_with_other_code_is_refused() -> None:
    job = Job(None, "write", shipped(), {}, "other code", None)  # type: ignore[arg-type]
    with pytest.raises(IdentityError, match="has other code than stage write; check out the same commit there"):
        remote_chunk.fn({}, job)


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (BudgetError("cap"), False),
        (ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("inner", [BudgetError("cap")])]), False),
        (OSError("disk"), True),
        (ExceptionGroup("tasks", [OSError("disk")]), True),
    ],
)
def test_no_error_that_names_its_cause_is_retried(error: Exception, retried: bool) -> None:
    async def aresult(*, raise_on_failure: bool) -> Exception:
        return error

    assert asyncio.run(worth_retrying(None, None, SimpleNamespace(aresult=aresult))) is retried
