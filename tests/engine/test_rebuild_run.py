"""The parent run of a rebuild is created although Prefect's server is busy, and only then."""

from collections.abc import Iterator

import httpx
import pytest
import tenacity.nap

from flows.engine.rebuild_run import RebuildRun

API = "http://127.0.0.1:1/api"


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The pauses between requests, which are not waited for."""
    pauses: list[float] = []
    monkeypatch.setattr(tenacity.nap.time, "sleep", pauses.append)
    yield pauses


def answering(monkeypatch: pytest.MonkeyPatch, statuses: list[int]) -> list[str]:
    """Answer requests with these statuses, then with 201; returns the paths that were asked."""
    asked: list[str] = []

    def post(url: str, **_: object) -> httpx.Response:
        asked.append(url.removeprefix(f"{API}/"))
        status = statuses.pop(0) if statuses else 201
        return httpx.Response(status, json={"id": f"id of {asked[-1]}"}, request=httpx.Request("POST", url))

    monkeypatch.setattr(httpx, "post", post)
    return asked


@pytest.mark.parametrize("busy", [429, 502, 503])
def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch, slept: list[float], busy: int) -> None:
    asked = answering(monkeypatch, [201, busy, busy])
    assert RebuildRun("lineage").open(API) == "id of flow_runs/"
    assert asked == ["flows/", "flow_runs/", "flow_runs/", "flow_runs/"]
    assert len(slept) == 2


def test_a_refused_request_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch, slept: list[float]) -> None:
    asked = answering(monkeypatch, [422])
    with pytest.raises(httpx.HTTPStatusError, match="422"):
        RebuildRun("lineage").open(API)
    assert asked == ["flows/"]
    assert not slept
