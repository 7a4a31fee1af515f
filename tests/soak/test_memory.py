"""Memory does not grow with the number of calls."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.endpoints import simulator

pytestmark = pytest.mark.soak

ASKER = """
import asyncio, gc, json, sys
from pathlib import Path
import psutil
from tasks.transport.store import ResponseStore
from tests.support.endpoints import asker, chat
from schemas.params.llm import Sending

MARKS = (10_000, 100_000)

async def run():
    found = {}
    with ResponseStore(Path(sys.argv[2])) as store:
        async with asker(store, sys.argv[1], sending=Sending(concurrency=32)) as ask:
            for first in range(0, MARKS[-1], 250):
                answers = await ask([chat(n, "hello " * 200) for n in range(first, first + 250)])
                assert all(answer.ok for answer in answers)
                if first + 250 in MARKS:
                    found[first + 250] = psutil.Process().memory_info().rss
    print(json.dumps(found))

asyncio.run(run())
"""


def test_a_hundred_thousand_calls_take_no_more_memory_than_ten_thousand(tmp_path: Path) -> None:
    with simulator() as server:
        command = [sys.executable, "-c", ASKER, server.base_url, str(tmp_path / "s.sqlite")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    few, many = json.loads(done.stdout).values()
    print(f"\nafter 10,000 calls {few / 1e6:.0f} MB, after 100,000 calls {many / 1e6:.0f} MB")
    assert many - few < 50e6
