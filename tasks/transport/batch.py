"""Sends requests through OpenAI's Batch API: half the price, within a day.

Requests are collected until none has come for a moment, and sent as batches within the documented limits. A batch is
recorded in the store before it is created, and its id after, so that one under way when the process is killed is found
again: by id, or by the token in its metadata. Its replies are kept even if nobody has asked for them yet. Only requests
that a batch did not answer (expired, failed, missing) are sent again. A batch refused because too many tokens are
enqueued is sent again when another one has ended.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from schemas.errors import EndpointError, IdentityError, VignetteError
from schemas.params.llm import Sending
from tasks.llm.replies import Completion, SendFailure
from tasks.llm.requests import Request
from tasks.transport.batch_files import BatchRow, BatchRows, Result, read_requests, read_results, split
from tasks.transport.client import Keeper
from tasks.transport.endpoint import Endpoint
from tasks.transport.processes import ParentWatch
from tasks.transport.shown import printable

T = TypeVar("T")
Fields = dict[str, Any]
"""What the endpoint says of a batch."""

ENDED = ("completed", "failed", "expired", "cancelled")
WINDOW = "24h"


class Batch:
    """The batch transport of one role in one process."""

    def __init__(self, endpoint: Endpoint, sending: Sending, keeper: Keeper) -> None:
        self.endpoint, self.sending, self._keeper = endpoint, sending, keeper
        self.rows = BatchRows(keeper.account.store, endpoint.address, keeper.fingerprint.key)
        self._waiting: dict[bytes, asyncio.Future[Result]] = {}  # by key, for the results of batches
        self._pending: dict[bytes, Request] = {}  # to be put into the next batch
        self._under_way: set[bytes] = set()  # keys in batches
        self._adopted: asyncio.Future[None] | None = None
        self._collector: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._came = 0
        self._watch = ParentWatch()

    async def send(self, request: Request) -> tuple[str, Completion]:
        """The reply's body and content. Raises SendFailure, EndpointError, OrphanError."""
        if self._adopted is None:
            self._adopted = asyncio.ensure_future(self._adopt())
        await asyncio.shield(self._adopted)
        attempt = 0
        while True:
            result = await self._result_of(request)
            if result.completion is not None:
                return result.body, result.completion
            if result.failure.kind == "rejected" or attempt == self.sending.retries:
                raise result.failure
            attempt += 1
            if result.failure.may_be_billed:
                await self._keeper.account.reserve(request)

    async def _result_of(self, request: Request) -> Result:
        """The result of a request in the batch that holds it, or in the next one."""
        self._waiting[request.key] = future = asyncio.get_running_loop().create_future()
        if request.key not in self._under_way:
            self._pending[request.key] = request
            self._came += 1
            if self._collector is None or self._collector.done():
                self._collector = asyncio.create_task(self._collect())
        try:
            return await future
        finally:
            self._waiting.pop(request.key, None)

    def stop(self, error: VignetteError) -> None:
        """Put nothing more into batches: requests that wait for one raise ``error``."""
        pending, self._pending = list(self._pending), {}
        self._fail(pending, error)

    async def close(self) -> None:
        """Stop watching; batches under way go on and are found again by the next process."""
        tasks = [*self._tasks, *([self._collector] if self._collector else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _collect(self) -> None:
        """Wait until no request has arrived for a moment, then send the collected ones."""
        while self._pending:
            seen = -1
            while seen != self._came:
                seen = self._came
                await asyncio.sleep(self.sending.batch_collect_s)
            gathered, self._pending = list(self._pending.values()), {}
            for requests, content in split(gathered):
                self._start(self._run_new(requests, content), [request.key for request in requests])

    def _start(self, work: Coroutine[Any, Any, None], keys: list[bytes]) -> None:
        """Do the work of a batch in the background; if it fails, so does whoever waits for its requests."""

        async def run() -> None:
            try:
                await work
            except Exception as error:
                self._fail(keys, error)
            finally:
                self._under_way.difference_update(keys)

        self._under_way.update(keys)
        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_new(self, requests: list[Request], content: bytes) -> None:
        row = BatchRow(uuid.uuid4().hex, self._keeper.stage, None, [request.key for request in requests])
        await self.rows.add(row)
        order = {
            "input_file_id": await self._persist(lambda: self.endpoint.upload(content)),
            "endpoint": "/v1/chat/completions",
            "completion_window": WINDOW,
            "metadata": {"vignette": row.token},
        }
        while True:
            batch_id = str((await self._persist(lambda: self.endpoint.post("/batches", order)))["id"])
            await self.rows.set_id(row.token, batch_id)
            if not _is_over_enqueued_limit(await self._once(batch_id, lambda status: status != "validating")):
                break
            await self._pause()
        await self._follow(row, batch_id, {request.key: request for request in requests})

    async def _adopt(self) -> None:
        """Find the batches that an earlier process left under way."""
        rows = await self.rows.open()
        listed: dict[str, str] = {}  # ids of the endpoint's latest batches by our tokens
        if any(row.batch_id is None for row in rows):
            batches = (await self._persist(lambda: self.endpoint.get("/batches", limit=100))).get("data") or []
            listed = {(batch.get("metadata") or {}).get("vignette", ""): str(batch["id"]) for batch in batches}
        for row in rows:
            batch_id = row.batch_id or listed.get(row.token)
            if batch_id is None:  # killed before it was created
                await self.rows.remove(row.token)
                continue
            await self.rows.set_id(row.token, batch_id)
            self._start(self._follow_adopted(row, batch_id), row.keys)

    async def _follow_adopted(self, row: BatchRow, batch_id: str) -> None:
        batch = await self._once(batch_id, lambda _: True)
        found = read_requests(await self._file(batch["input_file_id"]))
        await self._follow(row, batch_id, {key: Request(key, content, "") for key, content in found.items()})

    async def _follow(self, row: BatchRow, batch_id: str, requests: dict[bytes, Request]) -> None:
        """Wait for a batch to end, store its replies, and hand out the results."""
        batch = await self._once(batch_id, lambda status: status in ENDED)
        errors = "; ".join(str(error.get("message")) for error in _errors(batch)[:3])
        missing = SendFailure("lost", printable(f"batch {batch['status']}" + (f": {errors}" if errors else "")))
        results = {key: Result(key, failure=missing) for key in requests}
        for name in ("error_file_id", "output_file_id"):
            if batch.get(name):
                found = read_results(await self._file(batch[name]))
                results |= {result.key: result for result in found if result.key in requests}
        for key, request in requests.items():
            try:
                await self._book(request, results[key], row.stage)
            except IdentityError as error:  # of another model; the other replies are paid for and kept
                self._fail([key], error)
        await self.rows.remove(row.token)
        self._under_way.difference_update(requests)
        for key, result in results.items():
            waiting = self._waiting.get(key)
            if waiting is not None and not waiting.done():
                waiting.set_result(result)

    async def _book(self, request: Request, result: Result, stage: str) -> None:
        """Keep a reply, or book a failure that may be billed; the reservation stays only where someone waits."""
        if result.completion is not None:
            await self._keeper.keep(request, result.body, result.completion, stage)
            return
        await self._keeper.account.book_failed(request, result.failure)
        if request.key not in self._waiting:
            await self._keeper.account.release(request.key)

    async def _once(self, batch_id: str, is_awaited: Callable[[str], bool]) -> Fields:
        """A batch once it has a status that is waited for."""
        while True:
            batch = await self._persist(lambda: self.endpoint.get(f"/batches/{batch_id}"))
            if is_awaited(batch["status"]):
                return batch
            await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self.sending.batch_poll_s)
        self._watch.check()

    async def _file(self, name: str) -> bytes:
        return await self._persist(lambda: self.endpoint.get_file(name))

    def _fail(self, keys: Iterable[bytes], error: Exception) -> None:
        for key in keys:
            waiting = self._waiting.get(key)
            if waiting is not None and not waiting.done():
                waiting.set_exception(error)

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


def _is_over_enqueued_limit(batch: Fields) -> bool:
    """Whether a batch failed because the batches under way hold as many tokens as the account may enqueue."""
    said = " ".join(f"{error.get('code')} {error.get('message')}" for error in _errors(batch)).lower()
    return batch["status"] == "failed" and ("token_limit_exceeded" in said or "enqueued token limit" in said)


def _errors(batch: Fields) -> list[Fields]:
    return (batch.get("errors") or {}).get("data") or []
