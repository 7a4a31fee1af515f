"""The Batch API as transport: batches are split, found again after a kill, and resubmitted only if needed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import EndpointError, IdentityError
from schemas.params.llm import Budget, Price, Role, Sending
from tasks.llm.calls import Answer, Call
from tasks.llm.requests import make_request
from tasks.simulator.batches import BatchFolder
from tasks.transport import batch
from tasks.transport.batch_files import Result, read_requests, read_results, request_line, split
from tasks.transport.fingerprint import Fingerprint
from tasks.transport.inspection import ledgers
from tests.support.endpoints import WRITER, answers, chat, simulator
from tests.support.hosted import completion, hosted
from tests.support.rules import calls_of_rules as calls
from tests.support.rules import is_right, rules
from tests.support.stored import sql, within

FULL = {"errors": {"data": [{"message": "queue is full"}]}}
BATCH = Sending(transport="batch", batch_collect_s=0.1, batch_poll_s=0.05, backoff_s=0.01, timeout_s=5)


def ask(base_url: str, folder: Path, asked: list[Call], sending: Sending = BATCH, **more: object) -> list[Answer]:
    return answers(base_url, folder, asked, sending=sending, **more)


def batches(folder: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in (folder / "files").glob("batch_*.json")]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of the simulator with a folder for batches."""
    (folder / "files").mkdir()
    with simulator("--folder", str(folder / "files")) as server:
        yield server.base_url


def writer_of(url: str, owner: str = "vignette") -> dict[str, Any]:
    """The role of the simulator's writer at an address, and its identity."""
    identity = {"endpoint": url, "asked": "vignette-writer", "answered": "vignette-writer", "owner": owner}
    role = Role(base_url=url, model="vignette-writer")
    return {"role": role, "fingerprint": Fingerprint("writer", identity)}


def test_calls_are_answered_through_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = calls(40)
    with rules(monkeypatch, tmp_path) as base_url:
        answers = ask(base_url, tmp_path, asked)
        again = ask(base_url, tmp_path, asked)
    assert all(answer.ok and is_right(answer) for answer in answers) and len(answers) == 80
    assert again == answers
    assert [batch["request_counts"] for batch in batches(tmp_path)] == [{"total": 80, "completed": 80, "failed": 0}]
    assert not (tmp_path / "journal").exists() or not (tmp_path / "journal").read_text(), "nothing was sent one by one"


def test_direct_and_batch_share_their_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = calls(5)
    with rules(monkeypatch, tmp_path) as base_url:
        direct = ask(base_url, tmp_path, asked, Sending())
        assert ask(base_url, tmp_path, asked) == direct
    assert batches(tmp_path) == []


def test_files_are_split_at_both_limits() -> None:
    requests = [make_request(chat(n), WRITER, "id") for n in range(1000)]
    by_count = [len(group) for group, _ in split(requests, max_requests=300)]
    assert by_count == [300, 300, 300, 100]
    line = len(request_line(requests[0]))
    for group, content in split(requests, max_bytes=10 * line + 30):
        assert len(content) <= 10 * line + 30 and content.count(b"\n") == len(group)
    assert [len(group) for group, _ in split(requests[:1] * 120_000)] == [50_000, 50_000, 20_000]


def test_a_batch_file_gives_the_requests_back_byte_for_byte() -> None:
    requests = [
        make_request(chat(n, "naïve – “x”"), Role(base_url="simulator", model="m", temperature=1.0), "id")
        for n in range(3)
    ]
    content = b"".join(request_line(request) for request in requests)
    assert read_requests(content) == {request.key: request.content for request in requests}


def test_error_lines_are_classified() -> None:
    key = "ab" * 32
    lines = [
        {"custom_id": key, "response": {"status_code": 400, "body": {"error": {"message": "too long"}}}, "error": None},
        {"custom_id": key, "response": {"status_code": 500, "body": {}}, "error": None},
        {"custom_id": key, "response": None, "error": {"code": "batch_expired", "message": "late"}},
        {"custom_id": key, "response": {"status_code": 200, "body": {"choices": []}}, "error": None},
    ]
    failures = [result.failure for result in read_results("\n".join(map(json.dumps, lines)).encode())]
    assert [failure.kind for failure in failures] == ["rejected", "lost", "lost", "garbled"]
    assert failures[0].reason == "HTTP 400: too long" and "batch_expired" in failures[2].reason
    assert [failure.may_be_billed for failure in failures] == [False, False, False, True]


@pytest.mark.parametrize(
    ("status", "again"),
    [*((status, False) for status in (0, 400, 407, 410, 430, 499)), *((s, True) for s in (408, 409, 429, 500, 503))],
)
def test_a_request_is_sent_again_where_that_may_help(status: int, again: bool) -> None:
    line = {"custom_id": "ab" * 32, "response": {"status_code": status, "body": "no"}, "error": None}
    (result,) = read_results(f"{json.dumps(line)}\n\n".encode())
    assert (result.failure.kind == "lost", result.failure.reason) == (again, f"HTTP {status}: no")


Advance = Callable[[BatchFolder, str, dict[str, Any]], dict[str, Any]]


def change_batches(patch: pytest.MonkeyPatch, change: Advance) -> None:
    """Have ``change`` say what becomes of a batch, given its folder, its name and what it would be."""
    original = BatchFolder.advance
    patch.setattr(BatchFolder, "advance", lambda folder, name: change(folder, name, original(folder, name)))


def spoiled_once(how: str) -> Advance:
    """The first batch that completes ends with a fault."""
    spoiled: set[str] = set()

    def change(folder: BatchFolder, name: str, batch: dict[str, Any]) -> dict[str, Any]:
        if batch["status"] != "completed" or spoiled:
            return batch
        spoiled.add(name)
        lines = folder.read_file(batch["output_file_id"]).splitlines()
        if how == "failed":
            batch |= {"status": "failed", "output_file_id": None} | FULL
        else:
            (folder.folder / batch["output_file_id"]).write_bytes(b"\n".join(lines[::2]) + b"\n")
        if how == "expired":
            late = {"response": None, "error": {"code": "batch_expired"}}
            expired = [json.dumps({"custom_id": json.loads(line)["custom_id"], **late}) for line in lines[1::2]]
            batch |= {"status": "expired", "error_file_id": "file-late"}
            (folder.folder / "file-late").write_text("\n".join(expired))
        folder._save(batch)
        return batch

    return change


@pytest.mark.parametrize(("how", "second"), [("missing", 20), ("expired", 20), ("failed", 40)])
def test_only_missing_replies_are_requested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, second: int
) -> None:
    change_batches(monkeypatch, spoiled_once(how))
    with rules(monkeypatch, tmp_path) as base_url:
        answers = ask(base_url, tmp_path, calls(20))
    assert all(answer.ok and is_right(answer) for answer in answers)
    assert sorted(batch["request_counts"]["total"] for batch in batches(tmp_path)) == sorted([40, second])  # type: ignore[index]


def test_a_batch_that_never_works_is_a_failure_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_batches(monkeypatch, lambda folder, name, batch: batch | {"status": "failed", "output_file_id": None} | FULL)
    with rules(monkeypatch, tmp_path) as base_url:
        (first, second) = ask(base_url, tmp_path, calls(1), BATCH.model_copy(update={"retries": 1}))
    assert first.failure == second.failure == "batch failed: queue is full"


def test_the_error_of_an_endpoint_without_batches_is_clear(tmp_path: Path) -> None:
    error = pytest.raises(EndpointError, match=r"the Batch API failed: .*404.*transport: direct")
    with hosted(lambda body, _: completion("x", body)) as endpoint, error:
        ask(endpoint.base_url, tmp_path, [chat(1)], **writer_of(endpoint.base_url, "acme"))


ASKER = """
import asyncio, sys
from pathlib import Path
from typing import Any
from tests.llm.test_batch import ask, BATCH
from tests.support.endpoints import chat
sending = BATCH.model_copy(update={"batch_poll_s": float(sys.argv[3])})
answers = ask(sys.argv[1], Path(sys.argv[2]), [chat(n) for n in range(30)], sending)
print(sum(answer.ok for answer in answers))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, Path]]:
    """An endpoint, its folder, and a copy of both stores as a process left them that was killed while it waited."""
    folder, kept = tmp_path_factory.mktemp("killed"), tmp_path_factory.mktemp("kept") / "copy"
    with served(folder) as url:
        first = subprocess.Popen([sys.executable, "-c", ASKER, url, str(folder), "60"])
        path = folder / "responses.sqlite"
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if path.exists() and batches(folder) and sql(path, "SELECT COUNT(batch_id) FROM batches")[0][0]:
                break
            time.sleep(0.05)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        shutil.copytree(folder, kept)
        yield url, folder, kept


@pytest.mark.parametrize("moment", ["id known", "id not known", "not created"])
def test_a_batch_under_way_survives_a_kill(killed: tuple[str, Path, Path], moment: str) -> None:
    base_url, folder, kept = killed
    for file in folder.rglob("*"):
        if file.is_file():
            file.unlink()
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    if moment != "id known":
        sql(folder / "responses.sqlite", "UPDATE batches SET batch_id = NULL")
    if moment == "not created":
        for file in (folder / "files").glob("batch_*.json"):
            file.unlink()
    answers = ask(base_url, folder, [chat(n) for n in range(30)])
    assert sum(answer.ok for answer in answers) == 30
    assert len(batches(folder)) == 1, "nothing was paid for twice"
    assert sql(folder / "responses.sqlite", "SELECT COUNT(*) FROM batches")[0][0] == 0


def test_batches_are_booked_at_their_price(tmp_path: Path) -> None:
    price = Price(prompt=1000.0, completion=1000.0)
    booked = {"budget": Budget(dollars=100.0), "prices": {"vignette-writer": price}}
    with served(tmp_path) as url:
        answers = ask(url, tmp_path, [chat(n) for n in range(4)], **writer_of(url), **booked)
    assert all(answer.ok for answer in answers)
    spent = within(tmp_path / "responses.sqlite", ledgers)["default"]
    tokens, greeting = 4 * (2 + 12), 6 + 12
    assert spent.tokens == tokens + greeting
    assert spent.dollars == pytest.approx((tokens * 0.5 + greeting) / 1e3), "the check of identity is no batch"
    assert (spent.calls, spent.reserved_tokens) == (5, 0)


def test_a_batch_over_the_enqueued_token_limit_waits_and_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = "Enqueued token limit reached for big-1 in organization. Limit: 90,000 enqueued tokens."
    over = {"status": "failed", "errors": {"data": [{"code": "token_limit_exceeded", "message": message}]}}
    refused: dict[str, None] = {}

    def change(_: BatchFolder, name: str, batch: dict[str, Any]) -> dict[str, Any]:
        if len(refused) < 12:
            refused[name] = None
        return batch | over if name in refused else batch

    change_batches(monkeypatch, change)
    with rules(monkeypatch, tmp_path) as base_url:
        answers = ask(base_url, tmp_path, calls(5), BATCH.model_copy(update={"retries": 1}))
    assert all(answer.ok and is_right(answer) for answer in answers)
    assert len(refused) == 12, "more often than a request may be sent again"
    assert len(list((tmp_path / "files").glob("file-*"))) <= 3, "the file was uploaded once"


def test_replies_of_another_model_in_a_batch_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoiled(content: bytes) -> list[Result]:
        results = list(read_results(content))
        half = [replace(r, completion=r.completion and replace(r.completion, model="other")) for r in results[:3]]
        return [*half, *results[3:]]

    monkeypatch.setattr(batch, "read_results", spoiled)
    with served(tmp_path) as url, pytest.raises(IdentityError, match="answered is 'other'"):
        ask(url, tmp_path, [chat(n) for n in range(6)], **writer_of(url))
    store = tmp_path / "responses.sqlite"
    assert sql(store, "SELECT model, COUNT(*) FROM responses GROUP BY model") == [("vignette-writer", 3)]
    assert sql(store, "SELECT COUNT(*) FROM batches")[0][0] == 0
