"""What calls through the store cost, against a bare loop over the same client."""

import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from openai import AsyncOpenAI

from schemas.params.llm import Role, Sending
from tasks.domains.rules import rules_of
from tasks.llm.calls import Call
from tasks.notes.prompting import build_prompts
from tasks.notes.writing import note_messages
from tasks.transport.client import Client
from tasks.transport.fingerprint import Fingerprint, simulator_identity
from tasks.transport.role import RoleAsk
from tasks.transport.store import ResponseStore
from tests.benchmarks.rows import Row, row
from tests.support.endpoints import simulator
from tests.support.records import NETWORK, random_records

ROLE = Role(base_url="simulator", model="vignette-writer", temperature=1.2, max_tokens=1000)
CONCURRENCY, CALLS, ROUNDS = 32, 2000, 3


def calls() -> Iterator[Row]:
    """Notes a second through the store, and from the store, against a bare loop over the same client."""
    prompts = build_prompts(random_records(CALLS), NETWORK, rules_of("respiratory"), seed=7)["single_prompt"]
    asked = [Call(f"{n}/write", note_messages(text), sample=n) for n, text in enumerate(prompts)]
    with simulator() as server:
        asyncio.run(_bare(server.base_url, asked))  # it loads its rules
        rounds = [(asyncio.run(_bare(server.base_url, asked)), *_stored(server.base_url, asked)) for _ in range(ROUNDS)]
    bare, ours, kept = (CALLS / statistics.median(taken) for taken in zip(*rounds, strict=True))
    yield row("notes written a second through the store", ours, bare, "bare AsyncOpenAI loop", "calls/s", CALLS)
    yield row("kept replies read a second", kept, bare, "asking again in a bare AsyncOpenAI loop", "calls/s", CALLS)


def _stored(base_url: str, asked: list[Call]) -> tuple[float, float]:
    """Seconds of asking, and of asking again."""

    async def ask_twice() -> tuple[float, float]:
        fingerprint, sending = Fingerprint("writer", simulator_identity(ROLE)), Sending(concurrency=CONCURRENCY)
        with TemporaryDirectory() as folder, ResponseStore(Path(folder) / "responses.sqlite") as store:
            client = Client("writer", ROLE, store, recorded=fingerprint, sending=sending, base_url=base_url)
            async with RoleAsk(client, fingerprint, "bench") as ask:
                times = [time.perf_counter()]
                for _ in range(2):
                    assert all(answer.ok for answer in await ask(asked))
                    times.append(time.perf_counter())
        return times[1] - times[0], times[2] - times[1]

    return asyncio.run(ask_twice())


async def _bare(base_url: str, asked: list[Call]) -> float:
    client, places = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0), asyncio.Semaphore(CONCURRENCY)
    settings = {"model": ROLE.model, "temperature": ROLE.temperature, "max_tokens": ROLE.max_tokens}

    async def ask(call: Call) -> None:
        async with places:
            messages = [{"role": one.role, "content": one.content} for one in call.messages]
            await client.chat.completions.create(messages=messages, seed=call.sample, **settings)  # type: ignore[call-overload]

    begun = time.perf_counter()
    await asyncio.gather(*(ask(call) for call in asked))
    ended = time.perf_counter()
    await client.close()
    return ended - begun


BENCHES = {"calls": calls}
