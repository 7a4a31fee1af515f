"""Rate limits hold jointly for all processes, roles and workers that share a store."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schemas.params.llm import Sending
from tests.support.children import start
from tests.support.endpoints import chat
from tests.support.hosted import Body, completion, hosted
from tests.support.rates import send_taken, take
from tests.support.scenarios import ask


def most_in(window: float, times: list[float]) -> int:
    """The largest number of times in any window of this many seconds."""
    return max(sum(start <= later < start + window for later in times) for start in times)


@contextmanager
def dask_workers(count: int) -> Iterator[Any]:
    """A client of a Dask cluster with so many worker processes, started as `runtime.dask: local` starts them."""
    from distributed import Client, LocalCluster  # not in the processes that the soak test starts from here

    cluster = LocalCluster(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, Client(cluster) as client:
        yield client


def test_four_processes_and_two_dask_workers_keep_to_the_limit_together(tmp_path: Path) -> None:
    names = [f"process {n}" for n in range(4)] + [f"worker {n}" for n in range(2)]
    with dask_workers(2) as client:
        processes = [start(send_taken, tmp_path, name, 6000, 3.0) for name in names[:4]]
        futures = [client.submit(take, tmp_path, name, 6000, 3.0) for name in names[4:]]
        while not all((tmp_path / name).exists() for name in names):
            time.sleep(0.05)
        (tmp_path / "go").touch()
        taken = [said.recv() for _, said in processes]
        taken += client.gather(futures)
    starts = [start for each in taken for start in each]
    assert len(starts) > 200 and all(taken), "all of them took part"
    assert most_in(2.0, starts) <= 210, "6,000 a minute are 200 in two seconds, and 5% more at most"


def test_roles_on_one_endpoint_share_its_limit(tmp_path: Path) -> None:
    with hosted(lambda body, _: completion("x", body)) as endpoint:
        sending = Sending(rpm=600, timeout_s=2)

        def run(first: int) -> None:
            ask(endpoint.base_url, tmp_path, [chat(n) for n in range(first, first + 10)], sending=sending)

        begun = time.monotonic()
        threads = [threading.Thread(target=run, args=(first,)) for first in (0, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lasted = time.monotonic() - begun
    assert len(endpoint.times) == 22 and lasted >= 21 * 0.1 * 0.95


@pytest.mark.soak
def test_four_processes_and_two_dask_workers_send_at_most_630_requests_in_any_minute(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from typing import Any
from tests.llm.test_rates import ask_for_a_while
ask_for_a_while(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
"""

    def reply(body: Body, _: int) -> Body:
        return completion("x", body)

    with hosted(reply) as endpoint, dask_workers(2) as client:
        line = [sys.executable, "-c", script, endpoint.base_url, str(tmp_path)]
        processes = [subprocess.Popen([*line, str(number * 1000)]) for number in range(4)]
        futures = [client.submit(ask_for_a_while, endpoint.base_url, tmp_path, n * 1000) for n in (4, 5)]
        assert [process.wait() for process in processes] == [0] * 4
        client.gather(futures)
    most = most_in(60.0, endpoint.times)
    print(f"\n{len(endpoint.times)} requests, at most {most} in any minute")
    assert len(endpoint.times) > 6 * 150
    assert most <= 630


def ask_for_a_while(base_url: str, folder: Path, first: int) -> None:
    """150 calls at 600 per minute in total."""
    ask(base_url, folder, [chat(n) for n in range(first, first + 150)], sending=Sending(rpm=600, timeout_s=5))
