"""Endpoints and roles for tests of the language-model layer."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from schemas.params.llm import Role, Sending
from tasks.llm.calls import Answer, Call, Message, Reply
from tasks.transport.client import Client
from tasks.transport.fingerprint import Fingerprint, simulator_identity
from tasks.transport.processes import die_with
from tasks.transport.role import RoleAsk
from tasks.transport.store import ResponseStore
from tests.support.imports import ROOT

WRITER = Role(base_url="simulator", model="vignette-writer")
QUICK = Sending(timeout_s=2.0, backoff_s=0.01, breaker_failures=10_000, concurrency=16)


class SimulatorServer:
    """The simulator as a process on a port; with arguments, that of `tests.support.faulty`."""

    def __init__(self, *arguments: str) -> None:
        module, parent = "tests.support.faulty" if arguments else "tasks.simulator.server", os.getpid()
        command = [sys.executable, "-m", module, *arguments]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: die_with(parent, signal.SIGKILL)
        )
        assert self.process.stdout is not None
        self.base_url = self.process.stdout.readline().strip()
        assert self.base_url, "the simulator did not start; its message is printed above"

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def simulator(*arguments: str) -> Iterator[SimulatorServer]:
    """The simulator on a port for as long as the context lasts."""
    server = SimulatorServer(*arguments)
    try:
        yield server
    finally:
        server.kill()


def asker(
    store: ResponseStore, base_url: str, *, role: Role = WRITER, sending: Sending = QUICK, **more: Any
) -> RoleAsk:
    """The writer's client for ``base_url``."""
    recorded = more.pop("fingerprint", None) or Fingerprint("writer", simulator_identity(role))
    client = Client("writer", role, store, recorded=recorded, sending=sending, base_url=base_url, **more)
    return RoleAsk(client, recorded, "test")


def answers(base_url: str, folder: Path, calls: Sequence[Call], **settings: Any) -> list[Answer]:
    """The writer's answers to calls, in order, with a store in ``folder``."""

    async def run() -> list[Answer]:
        with ResponseStore(folder / "responses.sqlite") as store:
            async with asker(store, base_url, **settings) as ask:
                return await ask(calls)

    return asyncio.run(run())


def chat(number: int, text: str = "hello", reply: type[Reply] | None = None) -> Call:
    """A call whose text differs from that of other numbers."""
    return Call(f"{number}/test", (Message("user", f"{text} {number}"),), reply=reply)


def journal_lines(path: Path) -> list[tuple[str, str]]:
    """(hash of the request's body, outcome) of each chat request that reached the server."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [(line.split()[0], line.split()[1]) for line in lines]
