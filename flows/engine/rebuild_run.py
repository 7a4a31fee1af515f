"""The flow run in Prefect that groups the stage runs of one rebuild.

DVC starts each stage in a process of its own. The first stage that runs creates the parent run, so that a rebuild with
nothing to do starts no server; the others find it by its key. It speaks to Prefect's REST API, which needs no import of
prefect in commands that run no stage.
"""

import json
import os
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import httpx
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random_exponential

from flows.engine.server import server_url, uses_tls

REBUILD = "VIGNETTE_REBUILD"
"""Environment variable in which a rebuild describes its parent run to the stages, as JSON."""

EndState = Literal["COMPLETED", "FAILED", "CANCELLED"]
FLOW = "rebuild"
TIMEOUT_S = 20
RETRY_S = 120


@dataclass(frozen=True)
class RebuildRun:
    """The parent run of a rebuild: its name and tags in Prefect; ``parent`` is the run of the watch that started it."""

    name: str
    tags: tuple[str, ...] = ()
    parent: str | None = None
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    def environment(self) -> dict[str, str]:
        """The variable from which stages read the parent run."""
        return {REBUILD: json.dumps(asdict(self))}

    def open(self, api: str) -> str:
        """The id of the parent run, which is created on first use."""
        created = _post(api, "flow_runs/", {**self._fields(api), "state": {"type": "RUNNING", "name": "Running"}})
        return str(created["id"])

    def add(self, api: str, stage: str) -> str:
        """The id of the entry in the parent run under which the run of a stage is shown."""
        return _entry(api, self.open(api), stage)

    def close(self, state: EndState, *, tags: tuple[str, ...] = ()) -> None:
        """End the parent run, if a stage has opened it, and tag it."""
        api = server_url()
        if api is None:
            return
        with suppress(httpx.HTTPError):  # the run is a view; a rebuild does not fail because its server is gone
            found = _post(api, "flow_runs/filter", {"flow_runs": {"idempotency_key": {"any_": [self.key]}}})
            for run in found:
                httpx.patch(f"{api}/flow_runs/{run['id']}", json={"tags": [*run["tags"], *tags]}, timeout=TIMEOUT_S)
                _post(api, f"flow_runs/{run['id']}/set_state", {"state": {"type": state}, "force": True})

    def _fields(self, api: str) -> dict[str, Any]:
        fields = {
            "flow_id": _post(api, "flows/", {"name": FLOW})["id"],
            "name": self.name,
            "tags": list(self.tags),
            "idempotency_key": self.key,
        }
        return fields if self.parent is None else {**fields, "parent_task_run_id": _entry(api, self.parent, FLOW)}


def rebuild_of_environment() -> RebuildRun | None:
    """The rebuild that started this process; None for a stage that was started by hand or by ``dvc repro``."""
    described = os.environ.get(REBUILD)
    if described is None:
        return None
    run = RebuildRun(**json.loads(described))
    return replace(run, tags=tuple(run.tags))


def _entry(api: str, flow_run: str, name: str) -> str:
    """The id of a run's entry for a run beneath it; made once for each name."""
    body = {"flow_run_id": flow_run, "name": name, "task_key": name, "dynamic_key": name, "state": {"type": "PENDING"}}
    return str(_post(api, "task_runs/", body)["id"])


def _is_busy(error: BaseException) -> bool:
    """Whether to ask again: after a timeout, or if the server says so, as Prefect's with 503 for a locked database."""
    if isinstance(error, httpx.TimeoutException):
        return True
    return isinstance(error, httpx.HTTPStatusError) and error.response.status_code in {429, 502, 503}


# Repeating a request is safe: the server knows flows by name, runs by key and entries by name and run.
@retry(
    retry=retry_if_exception(_is_busy),
    wait=wait_random_exponential(multiplier=0.2, max=5),
    stop=stop_after_delay(RETRY_S),
    reraise=True,
)
def _post(api: str, path: str, body: dict[str, Any]) -> Any:
    answered = httpx.post(f"{api}/{path}", json=body, timeout=TIMEOUT_S, verify=uses_tls(api))
    answered.raise_for_status()
    return answered.json()
