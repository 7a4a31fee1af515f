"""Run the simulator: ``python -m tasks.simulator.serve``.

Started by hand it serves until interrupted. With ``--with-parent`` it exits as soon as its standard input closes, so
that it never outlives the stage that started it, even one killed with SIGKILL.
"""

import argparse
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path

import uvicorn

from tasks.simulator.aliases import Aliases
from tasks.simulator.faults import Faults
from tasks.simulator.server import Journal, Protocol, make_app

_SHARED = "tasks.text.sentences"
"""Loaded before the workers are forked: most rules need it, and it imports nltk, which takes more than a second."""


def main(arguments: list[str] | None = None) -> None:
    """Bind, print the address to standard output (connections wait from then on), fork the other workers and serve."""
    options, starter = _parser().parse_args(arguments), os.getppid()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="vignette-endpoint-"))
    folder.mkdir(parents=True, exist_ok=True)
    listeners = _bind_all(options.host, options.port, options.workers)
    print(f"http://{options.host}:{listeners[0].getsockname()[1]}/v1", flush=True)
    if options.workers > 1:
        import_module(_SHARED)
    listener, number = _fork_workers(listeners)
    if options.with_parent:
        if number == 0:
            _exit_without(starter)
        _end_with_standard_input(None if number or options.folder else folder)
    faults = Faults(_rates(options.faults), options.fault_seed + number, options.retry_after, options.hang)
    app = make_app(faults, Journal(options.journal), folder, Aliases(options.aliases))
    config = uvicorn.Config(app, http=Protocol, log_level="critical", access_log=False, lifespan="off", backlog=2048)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        if number == 0 and options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tasks.simulator.serve", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    parser.add_argument("--folder", type=Path, help="where files and batches are kept (default: temporary)")
    parser.add_argument("--journal", type=Path, help="file that logs each chat request")
    parser.add_argument("--aliases", type=Path, help='JSON file of model aliases: {"judge": "vignette-judge@2"}')
    parser.add_argument("--faults", default="", help="rates of injected faults: 429=0.05,500=0.05,hang=0.01")
    parser.add_argument("--fault-seed", type=int, default=0)
    parser.add_argument("--retry-after", type=float, default=1.0, help="Retry-After of a 429, in seconds")
    parser.add_argument("--hang", type=float, default=3600.0, help="duration of a hanging request, in seconds")
    return parser


def _rates(text: str) -> dict[str, float]:
    pairs = (entry.split("=") for entry in text.split(",") if entry)
    return {kind: float(rate) for kind, rate in pairs}


def _bind_all(host: str, port: int, workers: int) -> list[socket.socket]:
    """A socket for each worker on one port; the kernel distributes connections among them."""
    first = _bind(host, port)
    return [first, *(_bind(host, first.getsockname()[1]) for _ in range(workers - 1))]


def _bind(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, port))
    listener.listen(2048)  # from now on connections wait instead of failing
    return listener


def _fork_workers(listeners: list[socket.socket]) -> tuple[socket.socket, int]:
    """Return each worker's own socket and its number; 0 is the initial process."""
    origin, mine = os.getpid(), 0
    for number in range(1, len(listeners)):
        if os.fork() == 0:
            _exit_without(origin)
            mine = number
            break
    for number, listener in enumerate(listeners):
        if number != mine:
            listener.close()
    return listeners[mine], mine


def _exit_without(parent: int) -> None:
    """Exit within half a second after the parent process ends."""

    def poll() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=poll, daemon=True).start()


def _end_with_standard_input(folder: Path | None) -> None:
    """Remove ``folder`` and exit as soon as standard input closes."""

    def wait_for_end() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=wait_for_end, daemon=True).start()


if __name__ == "__main__":
    main()
