"""Processes that share a response store, forked from one process that has imported the client."""

import asyncio
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from tasks.transport.database import Where
from tasks.transport.store import ResponseStore
from tests.support.stored import paid

SERVER = get_context("forkserver")
SERVER.set_forkserver_preload([__name__, "tests.llm.test_backends"])


def start(run: Callable[..., None], *arguments: Any) -> tuple[BaseProcess, Connection]:
    """A process that calls ``run`` with a connection and ``arguments``, and the end at which its messages arrive."""
    here, there = SERVER.Pipe(duplex=False)
    process = SERVER.Process(target=run, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    return process, here


def messages(connection: Connection) -> list[Any]:
    """All messages until the process ends."""
    found = []
    try:
        while True:
            found.append(connection.recv())
    except EOFError:
        return found


def finished(started: list[tuple[BaseProcess, Connection]]) -> bool:
    """Wait for processes; whether all of them succeeded."""
    for process, _ in started:
        process.join()
    return all(process.exitcode == 0 for process, _ in started)


def write_replies(said: Connection, where: Where, first: int, last: int) -> None:
    """Store replies one by one, and send the number of each that is committed."""

    async def run() -> None:
        with ResponseStore(where) as store:
            for n in range(first, last):
                await store.do(paid(n).insert)
                said.send(n)

    asyncio.run(run())
