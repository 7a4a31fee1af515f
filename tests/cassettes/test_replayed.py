"""The recorded replies of a strong model run every stage that asks a model: each call is answered by a recorded reply,
none is left over, and nothing is unscored.
"""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NamedTuple

import pandas as pd
import pytest

from flows.lineage.recorded import CASSETTES, REPLIES, cassettes, recorded_params
from flows.repository.params import COLLECT, response_store
from flows.repository.pipeline import MAIN, StageFiles, model_stages, read_pipeline, with_needed
from flows.repository.workspace import WORKSPACE
from flows.runtime.stage import Stage
from schemas.errors import UnscoredError
from schemas.params import Params
from tasks.transport.inspection import import_replies, open_existing
from tasks.transport.missing import batch_files
from tests.cassettes.refresh import read_replies
from tests.support.imports import ROOT
from tests.support.one_process import ABOUT_THE_RUN, InProcess, like_the_root, run_stages

pytestmark = pytest.mark.dag


class Replayed(InProcess):
    """A stage in process that finds its replies in a store, and notes requests for which there is none."""

    ask = Stage.ask

    used_by_all: ClassVar[set[bytes]] = set()

    def __init__(self, files: StageFiles, params: Params) -> None:
        super().__init__(files, params, ROOT / CASSETTES / "fingerprints")

    async def close(self) -> None:
        self.used_by_all |= self.used()[0]
        await super().close()


class Played(NamedTuple):
    """A folder in which the recorded model answered. ``unplanned``: the requests that no recorded reply answers."""

    folder: Path
    unplanned: list[str]
    used: set[str]


@pytest.fixture(scope="module", params=cassettes(), ids=lambda recorded: recorded.name)
def recorded(request: pytest.FixtureRequest) -> Path:
    """Each recorded lineage in turn."""
    found: Path = request.param
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, recorded: Path) -> Iterator[Played]:
    """The stages that ask a model, and those that these need, in this process on the recorded replies."""
    folder = tmp_path_factory.mktemp("cassette")
    params = Params.model_validate(recorded_params(ROOT, recorded))
    stages = read_pipeline(ROOT / MAIN)
    left_out = {*ABOUT_THE_RUN, *(set(stages) - with_needed(stages, list(model_stages(ROOT / MAIN))))}
    begun, Replayed.used_by_all = time.time(), set()
    with pytest.MonkeyPatch.context() as patch, like_the_root(folder):
        patch.setenv(COLLECT, "1")
        patch.setenv(WORKSPACE, str(folder / "workspace"))
        import_replies(response_store(params), ROOT / recorded / REPLIES)
        with suppress(UnscoredError):  # for want of replies, which the first test names
            run_stages(params, left_out=left_out, kind=Replayed)
        with open_existing(response_store(params)) as store:
            unplanned = [line for _, lines in batch_files(store, begun) for line in lines]
        yield Played(folder, unplanned, {key.hex() for key in Replayed.used_by_all})


def shown(line: dict) -> str:
    """The start of each message of a request."""
    return " | ".join(message["content"][:120].replace("\n", " ") for message in line["messages"])


def test_every_call_has_a_recorded_reply_and_none_is_stale(played: Played, recorded: Path) -> None:
    new = [shown(json.loads(line)["body"]) for line in played.unplanned]
    lines = read_replies(ROOT / recorded / REPLIES)
    stale = [shown(line["request"]) for line in lines if line["key"] not in played.used]
    assert not new and not stale, (
        f"{len(new)} requests without a recorded reply, {len(stale)} recorded replies that nothing asks for. "
        "To ask for the new ones alone: python -m tests.cassettes.refresh NAME\n"
        + "\n".join([*new[:5], "stale:", *stale[:5]])
    )


def test_nothing_is_unscored(played: Played) -> None:
    tables = sorted((played.folder / "data").rglob("unscored_*.parquet"))
    found = pd.concat([pd.read_parquet(table).assign(table=table.stem) for table in tables])
    assert len(tables) >= 7
    found = found[found["reason"] != "the metric gave no number"]  # of own metrics, which leave some notes out
    assert found.empty, found[["table", "record", "reason"]].to_string()
