"""Overhead of store, limits and checks: calling the simulator, compared with a bare loop over the same client."""

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from openai import AsyncOpenAI

from flows.runtime.simulator_server import SimulatorServer
from schemas.params.llm import Role, Sending
from tasks.domains.rules import load_rules
from tasks.llm.calls import Call, Message
from tasks.notes.prompting import build_prompts, system_message
from tasks.transport.fingerprint import Fingerprint, simulator_identity
from tasks.transport.roles import open_role
from tasks.transport.store import ResponseStore
from tests.benchmarks.comparison import row
from tests.support.records import NETWORK, random_records

ROLE = Role(base_url="simulator", model="vignette-writer", temperature=1.2, max_tokens=1000)
CONCURRENCY = 32
CALLS = 2000
ROUNDS = 3


def benches() -> Iterator[dict[str, Any]]:
    """Calls per second when requesting notes, and when the replies are stored already."""
    calls = note_calls(CALLS)
    with SimulatorServer() as server:
        asyncio.run(_bare(server.base_url, calls))  # warm-up: the workers load their rules and cache parsed prompts
        rounds = [asyncio.run(_round(server.base_url, calls, n % 2 == 0)) for n in range(ROUNDS)]
    ours, bare, kept = (statistics.median(speeds) for speeds in zip(*rounds, strict=True))
    peer = "bare AsyncOpenAI loop"
    yield row("notes written a second through the store", ours, bare, peer, "calls/s", CALLS, more=True)
    yield row("kept replies read a second", kept, bare, f"asking again in a {peer}", "calls/s", CALLS, more=True)


def note_calls(count: int) -> list[Call]:
    """Calls for notes, as in stage `write`."""
    prompts = build_prompts(random_records(count), NETWORK, load_rules(), seed=7)
    system = system_message()
    texts = prompts["single_prompt"]
    return [Call(f"{n}/write", (system, Message("user", text)), sample=n) for n, text in enumerate(texts)]


async def _round(base_url: str, calls: list[Call], bare_first: bool) -> tuple[float, float, float]:
    """Calls per second through the store, by a bare loop, and from the store, sequentially in one process."""
    bare = await _bare(base_url, calls) if bare_first else None
    ours, kept = await _stored(base_url, calls)
    return ours, bare or await _bare(base_url, calls), kept


async def _stored(base_url: str, calls: list[Call]) -> tuple[float, float]:
    fingerprint = Fingerprint("writer", simulator_identity(ROLE))
    with TemporaryDirectory() as folder, ResponseStore(Path(folder) / "responses.sqlite") as store:
        sending = Sending(concurrency=CONCURRENCY)
        async with open_role(
            "writer", ROLE, fingerprint, store=store, stage="bench", sending=sending, base_url=base_url
        ) as ask:
            begun = time.perf_counter()
            answers = await ask(calls)
            asked = time.perf_counter()
            await ask(calls)
            read = time.perf_counter()
    assert all(answer.ok for answer in answers)
    return len(calls) / (asked - begun), len(calls) / (read - asked)


async def _bare(base_url: str, calls: list[Call]) -> float:
    client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)
    places = asyncio.Semaphore(CONCURRENCY)

    async def ask(call: Call) -> str | None:
        async with places:
            reply = await client.chat.completions.create(
                model=ROLE.model,
                messages=[{"role": m.role, "content": m.content} for m in call.messages],  # type: ignore[misc]
                temperature=ROLE.temperature,
                max_tokens=ROLE.max_tokens,
                seed=call.sample,
            )
            return reply.choices[0].message.content

    begun = time.perf_counter()
    await asyncio.gather(*(ask(call) for call in calls))
    ended = time.perf_counter()
    await client.close()
    return len(calls) / (ended - begun)
