"""Sends requests through OpenAI's Batch API: half the price, within a day.

Requests are collected until none has come for a moment, and sent as batches within the documented limits. A batch is
recorded in the store before it is created, and its id after, so that one under way when the process is killed is found
again: by id, or by the token in its metadata. Its replies are kept even if nobody has asked for them yet. Only requests
that a batch did not answer (expired, failed, missing) are sent again. A batch refused because too many tokens are
enqueued is sent again when another one has ended.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from schemas.errors import EndpointError, IdentityError, VignetteError
from schemas.params.llm import Sending
from tasks.llm.batch_files import Result, read_requests, read_results, split
from tasks.llm.batch_rows import BatchRow, BatchRows
from tasks.llm.completions import Completion
from tasks.llm.endpoint import Endpoint
from tasks.llm.failures import SendFailure
from tasks.llm.keeping import Keeper
from tasks.llm.orphan import ParentWatch
from tasks.llm.requests import Request

T = TypeVar("T")
Reply = tuple[str, Completion]
ENDED = ("completed", "failed", "expired", "cancelled")
WINDOW = "24h"


@dataclass
class _Waiting:
    request: Request
    future: "asyncio.Future[Reply]"
    attempts: int = 0


class Batch:
    """The batch transport of one role in one process."""

    def __init__(self, endpoint: Endpoint, sending: Sending, rows: BatchRows, stage: str, keeper: Keeper) -> None:
        self.endpoint, self.sending, self.rows, self.stage, self._keeper = endpoint, sending, rows, stage, keeper
        self._waiting: dict[bytes, _Waiting] = {}
        self._pending: dict[bytes, Request] = {}
        self._under_way: set[bytes] = set()
        self._adopted: asyncio.Future[None] | None = None
        self._collector: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._came = 0
        self._watch = ParentWatch()

    async def send(self, request: Request) -> Reply:
        """The reply's body and content. Raises SendFailure, EndpointError, OrphanError."""
        if self._adopted is None:
            self._adopted = asyncio.ensure_future(self._adopt())
        await asyncio.shield(self._adopted)
        waiting = _Waiting(request, asyncio.get_running_loop().create_future())
        self._waiting[request.key] = waiting
        if request.key not in self._under_way:
            self._submit_soon(request)
        try:
            return await waiting.future
        finally:
            self._waiting.pop(request.key, None)

    def stop(self, error: VignetteError) -> None:
        """Put nothing more into batches: requests that wait for one raise ``error``."""
        pending, self._pending = list(self._pending), {}
        for key in pending:
            self._fail(key, error)

    async def close(self) -> None:
        """Stop watching; batches under way go on and are found again by the next process."""
        tasks = [*self._tasks, *([self._collector] if self._collector else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _submit_soon(self, request: Request) -> None:
        self._pending[request.key] = request
        self._came += 1
        if self._collector is None or self._collector.done():
            self._collector = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        """Wait until no request has arrived for a moment, then send the collected ones."""
        while self._pending:
            seen = -1
            while seen != self._came:
                seen = self._came
                await asyncio.sleep(self.sending.batch_collect_s)
            gathered, self._pending = list(self._pending.values()), {}
            for requests, content in split(gathered):
                self._under_way.update(request.key for request in requests)
                self._start(self._run_new(requests, content), [request.key for request in requests])

    def _start(self, work: Any, keys: list[bytes]) -> None:
        """Run ``work`` in the background; if it fails, so does whoever waits for its requests."""

        async def run() -> None:
            try:
                await work
            except Exception as error:
                for key in keys:
                    self._fail(key, error)
            finally:
                self._under_way.difference_update(keys)

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_new(self, requests: list[Request], content: bytes) -> None:
        row = BatchRow(uuid.uuid4().hex, self.stage, None, [request.key for request in requests])
        await self.rows.add(row)
        file_id = await self._persist(lambda: self.endpoint.upload(content))
        batch_id = await self._create(row, file_id)
        while await self._is_refused_for_now(batch_id):
            await asyncio.sleep(self.sending.batch_poll_s)
            self._watch.check()
            batch_id = await self._create(row, file_id)
        await self._follow(row, batch_id, {request.key: request for request in requests})

    async def _create(self, row: BatchRow, file_id: str) -> str:
        """Create a batch of an uploaded file; its id, which is recorded."""
        order = {
            "input_file_id": file_id,
            "endpoint": "/v1/chat/completions",
            "completion_window": WINDOW,
            "metadata": {"vignette": row.token},
        }
        created = await self._persist(lambda: self.endpoint.post("/batches", order))
        await self.rows.set_id(row.token, str(created["id"]))
        return str(created["id"])

    async def _is_refused_for_now(self, batch_id: str) -> bool:
        """Wait until a batch was validated; True when it was refused because too many tokens are enqueued."""
        while (batch := await self._status(batch_id))["status"] == "validating":
            await asyncio.sleep(self.sending.batch_poll_s)
            self._watch.check()
        return bool(batch["status"] == "failed" and _is_over_enqueued_limit(batch))

    async def _status(self, batch_id: str) -> dict[str, Any]:
        return await self._persist(lambda: self.endpoint.get(f"/batches/{batch_id}"))

    async def _adopt(self) -> None:
        """Find the batches that an earlier process left under way."""
        rows = await self.rows.open()
        if not rows:
            return
        listed = await self._listed() if any(row.batch_id is None for row in rows) else {}
        for row in rows:
            batch_id = row.batch_id or listed.get(row.token)
            if batch_id is None:  # killed before it was created
                await self.rows.remove(row.token)
                continue
            await self.rows.set_id(row.token, batch_id)
            self._under_way.update(row.keys)
            self._start(self._follow_adopted(row, batch_id), row.keys)

    async def _listed(self) -> dict[str, str]:
        """Ids of the endpoint's latest batches that carry a token of ours."""
        batches = (await self._persist(lambda: self.endpoint.get("/batches?limit=100"))).get("data") or []
        return {(batch.get("metadata") or {}).get("vignette", ""): str(batch["id"]) for batch in batches}

    async def _follow_adopted(self, row: BatchRow, batch_id: str) -> None:
        batch = await self._status(batch_id)
        found = read_requests(await self._file(batch["input_file_id"]))
        requests = {key: Request(key, content, "") for key, content in found.items()}
        await self._follow(row, batch_id, requests)

    async def _follow(self, row: BatchRow, batch_id: str, requests: dict[bytes, Request]) -> None:
        """Wait for a batch to end, store its replies, and send missing requests again."""
        while (batch := await self._status(batch_id))["status"] not in ENDED:
            await asyncio.sleep(self.sending.batch_poll_s)
            self._watch.check()
        results = await self._results(batch)
        reason = f"batch {batch['status']}{_errors(batch)}"
        for key, request in requests.items():
            result = results.get(key)
            if result is None or result.completion is None:
                continue
            try:
                await self._keeper.keep(request, result.body, result.completion, row.stage)
            except IdentityError as error:  # of another model; the other replies are paid for and kept
                self._fail(key, error)
        await self.rows.remove(row.token)
        self._under_way.difference_update(requests)
        for key in requests:
            self._settle(results.get(key) or Result(key, reason=reason, kind="lost"))

    async def _results(self, batch: dict[str, Any]) -> dict[bytes, Result]:
        found: dict[bytes, Result] = {}
        for name in ("error_file_id", "output_file_id"):
            if batch.get(name):
                text = await self._file(batch[name])
                found.update((result.key, result) for result in read_results(text))
        return found

    async def _file(self, name: str) -> str:
        return await self._persist(lambda: self.endpoint.get_text(f"/files/{name}/content"))

    def _settle(self, result: Result) -> None:
        waiting = self._waiting.get(result.key)
        if waiting is None or waiting.future.done():
            return
        if result.completion is not None:
            waiting.future.set_result((result.body, result.completion))
        elif result.again and waiting.attempts < self.sending.retries:
            waiting.attempts += 1
            self._submit_soon(waiting.request)
        else:
            self._fail(result.key, SendFailure(result.kind, result.reason))

    def _fail(self, key: bytes, error: Exception) -> None:
        waiting = self._waiting.get(key)
        if waiting is not None and not waiting.future.done():
            waiting.future.set_exception(error)

    async def _persist(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Do one step with the endpoint, again after failures that may pass. Raises EndpointError."""
        for attempt in range(self.sending.retries + 1):
            self._watch.check()
            try:
                return await operation()
            except SendFailure as failure:
                if failure.kind in ("fatal", "rejected") or attempt == self.sending.retries:
                    raise EndpointError(
                        f"{self.endpoint.address}: the Batch API failed: {failure.reason}. Batches under way are "
                        "written down; run again to go on, or set transport: direct"
                    ) from failure
                await asyncio.sleep(failure.wait_s or min(60.0, self.sending.backoff_s * 2**attempt))
        raise AssertionError("unreachable")


def _is_over_enqueued_limit(batch: dict[str, Any]) -> bool:
    """Whether a batch failed because the batches under way hold as many tokens as the account may enqueue."""
    errors = (batch.get("errors") or {}).get("data") or []
    said = " ".join(f"{error.get('code')} {error.get('message')}" for error in errors).lower()
    return "token_limit_exceeded" in said or "enqueued token limit" in said


def _errors(batch: dict[str, Any]) -> str:
    errors = (batch.get("errors") or {}).get("data") or []
    return ": " + "; ".join(str(error.get("message")) for error in errors[:3]) if errors else ""
