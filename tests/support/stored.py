"""Made-up replies in a response store."""

import asyncio
import json
from pathlib import Path

from tasks.llm.store import Paid, ResponseStore


def paid(number: int, *, stage: str = "write", identity: str = "abc.0", dollars: float = 0.5) -> Paid:
    return Paid(
        key=number.to_bytes(32, "big"),
        identity=identity,
        role="writer",
        stage=stage,
        task="write a clinical note",
        model="m",
        request=json.dumps({"messages": [{"role": "user", "content": f"{number}"}]}).encode(),
        reply=json.dumps({"choices": [{"message": {"content": f"reply {number}"}}]}),
        prompt_tokens=10,
        completion_tokens=20,
        dollars=dollars,
    )


def fill(path: Path, *replies: Paid) -> None:
    async def run() -> None:
        with ResponseStore(path) as store:
            await asyncio.gather(*(store.do(reply.insert) for reply in replies))

    asyncio.run(run())
