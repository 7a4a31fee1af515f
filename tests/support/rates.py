"""Takes units of a shared rate limit, in a process of its own or in a worker of a Dask cluster."""

import asyncio
import time
from multiprocessing.connection import Connection
from pathlib import Path

from tasks.transport.limits import Rate
from tasks.transport.store import ResponseStore


def send_taken(said: Connection, folder: Path, name: str, rpm: int, seconds: float) -> None:
    """Take units, and send their times."""
    said.send(take(folder, name, rpm, seconds))


def take(folder: Path, name: str, rpm: int, seconds: float) -> list[float]:
    """Take units one after the other from when ``folder``/go exists; returns the times at which they may be used.

    Writes ``folder``/``name`` when it is ready to begin.
    """

    async def run() -> list[float]:
        with ResponseStore(folder / "responses.sqlite") as store:
            rate = Rate(store, "endpoint requests", rpm)
            (folder / name).touch()
            while not (folder / "go").exists():
                await asyncio.sleep(0.01)
            until, starts = time.time() + seconds, list[float]()
            while time.time() < until:
                starts.append(await rate.take(1))
            return starts

    return asyncio.run(run())
