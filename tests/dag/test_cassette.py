"""The recorded replies of a strong model, served over HTTP, run every stage that asks a model: each call is answered by
a recorded reply, none is left over, and nothing is unscored.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from starlette.responses import JSONResponse

from flows.lineage.recorded import CASSETTES, Cassette, cassettes, recorded_params
from flows.repository.pipeline import model_stages
from tasks.llm.requests import REASK
from tests.cassettes.refresh import read_replies
from tests.support.clone import Clone
from tests.support.hosted import completion, hosted
from tests.support.imports import ROOT

GREETING = "Reply with the word: ready"
"""The request by which the client learns the answering model; it is not kept with the replies."""


@dataclass
class Replay:
    """A running server. ``unplanned``: the requests that no recorded reply answers."""

    replies: dict[str, dict[str, Any]]
    base_url: str = ""
    unplanned: list[dict[str, Any]] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)

    def reply(self, request: dict[str, Any], _: int) -> Any:
        """The recorded completion for a request; an error, and the request is noted, if there is none."""
        if request["messages"][0]["content"] == GREETING:
            return completion("ready", request)
        key = _key(request)
        if key not in self.replies:
            self.unplanned.append(request)
            return JSONResponse({"error": {"message": "no recorded reply", "type": "invalid_request_error"}}, 400)
        self.answered.add(key)
        return self.replies[key]

    def stale(self) -> list[str]:
        """The recorded requests that were not made."""
        return [key for key in self.replies if key not in self.answered]


@contextmanager
def replaying(cassette: Path, owner: str) -> Iterator[Replay]:
    """Serve the replies of a cassette."""
    replay = Replay({_key(line["request"]): line["reply"] for line in read_replies(cassette)})
    with hosted(replay.reply) as server:
        server.model_fields = {"owned_by": owner, "created": 1}
        replay.base_url = server.base_url
        yield replay


def _key(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)


pytestmark = pytest.mark.dag


@pytest.fixture(scope="module", params=cassettes(), ids=lambda recorded: recorded.name)
def recorded(request: pytest.FixtureRequest) -> Cassette:
    """Each recorded lineage in turn."""
    found: Cassette = request.param
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, recorded: Cassette) -> Iterator[tuple[Clone, Replay]]:
    """A clone in which the recorded model's replies came over HTTP."""
    folder: Path = tmp_path_factory.mktemp("cassette") / "vignette"
    clone = Clone(folder)
    fingerprints = {path.stem: json.loads(path.read_text()) for path in (ROOT / CASSETTES / "fingerprints").glob("*")}
    owner = fingerprints["writer"]["identity"]["owner"]
    with replaying(ROOT / recorded.replies, owner) as replay:
        params = recorded_params(ROOT, recorded)
        for name, role in params["roles"].items():
            role["base_url"] = fingerprints[name]["identity"]["endpoint"] = replay.base_url
            (folder / "fingerprints" / f"{name}.json").write_text(json.dumps(fingerprints[name]))
        (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
        clone.git("commit", "-qam", "recorded model")
        stages = model_stages(ROOT / "dvc.yaml")
        clone.vignette("repro", "--no-probe", *stages, check=False)  # a missing reply is reported below
        yield clone, replay
    clone.vignette("server", "stop")
    shutil.rmtree(folder)


def shown(request: dict[str, Any]) -> str:
    """The start of each message of a request."""
    return " | ".join(message["content"][:120].replace("\n", " ") for message in request["messages"])


def test_every_call_has_a_recorded_reply_and_none_is_stale(played: tuple[Clone, Replay]) -> None:
    _, replay = played
    new = [shown(request) for request in replay.unplanned]
    stale = [shown(json.loads(key)) for key in replay.stale()]
    assert not new and not stale, (
        f"{len(new)} requests without a recorded reply, {len(stale)} recorded replies that nothing asks for. "
        "To ask for the new ones alone: python -m tests.cassettes.refresh NAME\n"
        + "\n".join([*new[:5], "stale:", *stale[:5]])
    )


def test_nothing_is_unscored(played: tuple[Clone, Replay]) -> None:
    clone, _ = played
    tables = sorted((clone.folder / "data").rglob("unscored_*.parquet"))
    found = pd.concat([pd.read_parquet(table).assign(table=table.stem) for table in tables])
    assert len(tables) >= 7
    found = found[found["reason"] != "the metric gave no number"]  # of own metrics, which leave some notes out
    assert found.empty, found[["table", "record", "reason"]].to_string()


def test_nearly_all_replies_are_usable_as_they_came(recorded: Cassette) -> None:
    lines = read_replies(ROOT / recorded.replies)
    reasked = [line for line in lines if line["task"] == REASK]
    assert len(reasked) <= 0.01 * len(lines), Counter(line["stage"] for line in reasked)


def test_spans_are_located(played: tuple[Clone, Replay]) -> None:
    clone, _ = played
    spans = pd.read_parquet(clone.folder / "data" / "span" / "spans.parquet")
    assert (spans["matched"] == "exact").mean() >= 0.98, spans["matched"].value_counts()
