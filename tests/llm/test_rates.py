"""Rate limits hold jointly for all processes, roles and workers that share a store."""

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from schemas.params.llm import Sending
from tasks.llm.limits import Rate
from tasks.llm.store import ResponseStore
from tests.llm.test_client import ROLE, ask
from tests.support.endpoints import chat
from tests.support.hosted import Body, completion, hosted

TAKER = """
import asyncio, sys
from pathlib import Path
from tests.llm.test_rates import take
for start in asyncio.run(take(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))):
    print(start)
"""


async def take(path: Path, rpm: int, until: float) -> list[float]:
    """Take units one after the other until the given time; returns the times at which they may be used."""
    starts = []
    with ResponseStore(path) as store:
        rate = Rate(store, "endpoint requests", rpm)
        while time.time() < until:
            starts.append(await rate.take(1))
    return starts


def most_in(window: float, times: list[float]) -> int:
    """The largest number of times in any window of this many seconds."""
    return max(sum(start <= later < start + window for later in times) for start in times)


def test_four_processes_and_two_threads_keep_to_the_limit_together(tmp_path: Path) -> None:
    rpm, path = 6000, tmp_path / "responses.sqlite"
    with ResponseStore(path):
        until = time.time() + 8.0
        line = [sys.executable, "-c", TAKER, str(path), str(rpm), str(until)]
        processes = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        starts: list[float] = []
        threads = [
            threading.Thread(target=lambda: starts.extend(asyncio.run(take(path, rpm, until)))) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for process in processes:
            starts += [float(line) for line in process.communicate()[0].split()]
        for thread in threads:
            thread.join()
    assert len(starts) > 200, "all of them took part"
    assert most_in(2.0, starts) <= 210, "6,000 a minute are 200 in two seconds, and 5% more at most"


def test_roles_on_one_endpoint_share_its_limit(tmp_path: Path) -> None:
    with hosted(lambda body, _: completion("x", body)) as endpoint:
        sending = Sending(rpm=600, timeout_s=2)

        def run(first: int) -> None:
            ask(endpoint.base_url, tmp_path, [chat(n) for n in range(first, first + 10)], sending=sending, role=ROLE)

        begun = time.monotonic()
        threads = [threading.Thread(target=run, args=(first,)) for first in (0, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lasted = time.monotonic() - begun
    assert len(endpoint.times) == 22 and lasted >= 21 * 0.1 * 0.95


def test_unused_tokens_are_given_back(tmp_path: Path) -> None:
    async def run() -> float:
        with ResponseStore(tmp_path / "s.sqlite") as store:
            rate = Rate(store, "tokens", 6000)
            await rate.take(1000)
            await rate.give_back(990)
            begun = time.monotonic()
            await rate.take(1)
            return time.monotonic() - begun

    assert asyncio.run(run()) < 1.0, "10 tokens of 100 a second were used"


@pytest.mark.soak
def test_four_processes_send_at_most_630_requests_in_any_minute(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from tests.llm.test_rates import ask_for_a_while
ask_for_a_while(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
"""

    def reply(body: Body, _: int) -> Body:
        return completion("x", body)

    with hosted(reply) as endpoint:
        line = [sys.executable, "-c", script, endpoint.base_url, str(tmp_path)]
        processes = [subprocess.Popen([*line, str(number * 1000)]) for number in range(4)]
        assert [process.wait() for process in processes] == [0] * 4
    assert len(endpoint.times) > 700
    assert most_in(60.0, endpoint.times) <= 630


def ask_for_a_while(base_url: str, folder: Path, first: int) -> None:
    """200 calls at 600 per minute in total."""
    ask(base_url, folder, [chat(n) for n in range(first, first + 200)], sending=Sending(rpm=600, timeout_s=5))
