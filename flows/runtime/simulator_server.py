"""Starts the simulator for the process that needs it and stops it with that process."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from schemas.errors import EndpointError

PROJECT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 30  # a worker that is still loading its libraries notices the end after them


class SimulatorServer:
    """The simulator as a subprocess on a free loopback port.

    Its standard input is a pipe whose write end only this process has, so the simulator ends however this process does.
    """

    def __init__(self, arguments: Sequence[str] = (), *, workers: int | None = None) -> None:
        count = workers or min(os.cpu_count() or 1, 4)
        command = [sys.executable, "-m", "tasks.simulator.server", "--with-parent", "--workers", str(count)]
        self._process = subprocess.Popen(
            [*command, *arguments], cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()
        if not self.base_url:
            self.stop()
            raise EndpointError(
                f"the simulator did not start (exit status {self._process.returncode}); "
                "its message is printed above; try: python -m tasks.simulator.server"
            )

    @property
    def pid(self) -> int:
        """Process id of its first worker."""
        return self._process.pid

    def stop(self) -> None:
        """Stop the simulator; all its workers exit when their standard input closes."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "SimulatorServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
