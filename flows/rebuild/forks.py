"""Runs the stages of a rebuild, and DVC's step of each, as forks of one process that has imported once what all need.

A started command finds that server by an environment variable and hands itself over: arguments, working directory,
environment and open streams. It waits for the fork, passes signals on and exits with its status. Without a server, or
where the fork could differ from a process of its own, the command runs itself. The part of the waiting command imports
little.
"""

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SOCKET = "VIGNETTE_FORKS"
"""Environment variable with the path of the server's socket."""
COMMAND = (sys.executable, "-m", "flows.rebuild.forks")
"""Starts the server."""
FEWEST = 2
"""Stages of a rebuild for which a server is started: for a single one its start takes what it saves."""
KILLED = 128 + signal.SIGKILL
_MODULES = (
    "anyio._backends._asyncio",
    "dvc.cachemgr",
    "dvc.data_cloud",
    "dvc.lock",
    "dvc.repo.reproduce",
    "dvc.rwlock",
    "dvc.scm",
    "dvc_render",
    "flatten_dict",
    "flows.commands.probe",
    "flows.commands.stage",
    "flows.rebuild.dvc_stage",
    "flows.rebuild.flow_run",
    "flows.runtime.clients",
    "flows.runtime.domain",
    "flows.runtime.stage",
    "pandera.backends.pandas.register",
    "pandera.strategies.pandas_strategies",
    "prefect.flow_engine",
    "pyarrow.pandas_compat",
    "ruamel.yaml",
    "scmrepo.git",
)
"""What every stage imports, with all that it imports in turn."""
_STARTS_NO_THREAD = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Set before the imports: an allocator in Arrow, which is not its default, would start a thread."""
_DIFFERS = {"DVC_ROOT", "DVC_STAGE", "OLDPWD", "PWD", "SHLVL", "_", *_STARTS_NO_THREAD}
"""Environment variables that no library reads when it is imported, and that differ between stages; and VIGNETTE_*."""


def hand_over(work: str, arguments: Sequence[str]) -> int | None:
    """Exit status of ``work`` (`command` of vignette or `dvc` step), done by a fork; None where it is to be done here.

    Ends this process with the signal that ended the fork. A server that is gone counts as a killed fork.
    """
    if (path := os.environ.get(SOCKET)) is None:
        return None
    with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
        _connect(connection, Path(path))
        sent = json.dumps(_request(work, arguments)).encode()
        socket.send_fds(connection, [len(sent).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(sent)
        replies = connection.makefile("r")
        answer, _, fork = replies.readline().partition(" ")
        if answer != "fork":
            return None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: _send(int(fork), number))
        try:
            status = int(replies.readline() or KILLED)
        except OSError:
            status = KILLED
        if status < 0:
            with suppress(OSError):  # SIGKILL has no handler
                signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        return status
    return None


def _connect(connection: socket.socket, path: Path) -> None:
    """Connect by the file's name alone, as the path may be longer than the address of a socket."""
    here = Path.cwd()
    try:
        os.chdir(path.parent)
        connection.connect(path.name)
    finally:
        os.chdir(here)


def _request(work: str, arguments: Sequence[str]) -> dict[str, Any]:
    umask = os.umask(0o077)
    os.umask(umask)
    return {
        "work": work,
        "arguments": list(arguments),
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "umask": umask,
        "pid": os.getpid(),
        "runs_on": _runs_on(),
    }


def _runs_on() -> list[Any]:
    """What a fork cannot take over: interpreter, code, and limits of the process."""
    import resource

    names = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    limits = [list(resource.getrlimit(getattr(resource, name))) for name in names]
    code = os.path.realpath(__file__)
    return [os.path.realpath(sys.executable), code, list(sys.warnoptions), bool(sys.flags.utf8_mode), limits]


def _send(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


@contextmanager
def stages_forked(count: int) -> Iterator[None]:
    """A context in which the ``count`` stages of a rebuild, started by this process, run as forks, on Linux."""
    from flows.repository.processes import end_group, start_group
    from flows.repository.workspace import workspace

    if sys.platform != "linux" or count < FEWEST:
        yield
        return
    path = workspace() / f"forks-{os.getpid()}"
    path.unlink(missing_ok=True)  # of a killed process with the same id
    with socket.socket(socket.AF_UNIX) as listener:
        _bind(listener, path)
        command = [*COMMAND, str(listener.fileno())]
        server = start_group(command, _STARTS_NO_THREAD, passed=[listener.fileno()])
    os.environ[SOCKET] = str(path)
    try:
        yield
    finally:
        del os.environ[SOCKET]
        end_group(server)
        path.unlink(missing_ok=True)


def _bind(listener: socket.socket, path: Path) -> None:
    here, umask = Path.cwd(), os.umask(0o077)
    try:
        os.chdir(path.parent)
        listener.bind(path.name)
        path.chmod(0o700)
    finally:
        os.chdir(here)
        os.umask(umask)
    listener.listen(128)


class _Server:
    """Forks for each connection, as long as it has a single thread; a fork ends with its client."""

    def __init__(self, listener: socket.socket) -> None:
        self._environment = dict(os.environ)
        self._set = dict[str, str]()
        """Variables set by the imports, here as in any process that imports the same."""
        self._listener, self._forks = listener, dict[int, socket.socket]()

    def load(self) -> None:
        """Import what the forks need. No variable, file or param is read that differs between them."""
        import gc
        from importlib import import_module

        gc.disable()
        for name in _MODULES:
            import_module(name)
        self._set = {name: value for name, value in os.environ.items() if self._environment.get(name) != value}
        gc.freeze()
        gc.enable()

    def serve(self) -> tuple[str, list[str]]:
        """Serve for ever; returns only in a fork, with its work and arguments."""
        import select

        woken, waker = socket.socketpair()
        waker.setblocking(False)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._end)
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(woken, select.POLLIN)
        server = os.getpid()
        while True:
            for number, _ in poll.poll():
                if number == woken.fileno():
                    woken.recv(4096)
                    self._reap(poll)
                elif number != self._listener.fileno():  # the client is gone
                    poll.unregister(number)
                    self._end_forks(number)
                elif (connection := self._accept()) is not None:
                    if (pid := os.fork()) == 0:
                        for each in (self._listener, woken, waker, *self._forks.values()):
                            each.close()
                        return self._become(connection, server)
                    self._forks[pid] = connection
                    poll.register(connection, select.POLLRDHUP)  # what the client sends is for the fork

    def _accept(self) -> socket.socket | None:
        connection, _ = self._listener.accept()
        if len([*Path("/proc/self/task").iterdir()]) == 1:
            return connection
        connection.close()  # a thread may hold a lock, for ever locked in a fork
        return None

    def _reap(self, poll: Any) -> None:
        for pid, connection in list(self._forks.items()):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)  # what it left
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with suppress(KeyError):
                poll.unregister(connection)
            with suppress(OSError), connection:
                connection.sendall(f"{status}\n".encode())
            del self._forks[pid]

    def _end_forks(self, of: int | None = None) -> None:
        for pid, connection in self._forks.items():
            if of in (None, connection.fileno()):
                for end in (os.killpg, os.kill):  # it may have no group of its own yet
                    with suppress(ProcessLookupError, PermissionError):
                        end(pid, signal.SIGKILL)

    def _end(self, *_: object) -> None:
        self._end_forks()
        os._exit(128 + signal.SIGTERM)

    def _become(self, connection: socket.socket, server: int) -> tuple[str, list[str]]:
        """Make this process, just forked, one like that of the client."""
        from tasks.transport.processes import die_with, stand_for

        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        die_with(server, signal.SIGTERM)
        head, streams, *_ = socket.recv_fds(connection, 8, 3)
        with connection.makefile("rb") as sent:
            request = json.loads(sent.read(int.from_bytes(head, "big")))
        if request["runs_on"] != _runs_on() or self._read(request["environment"]) != self._read(self._environment):
            os._exit(0)  # without an answer: the client does it
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        for output in (sys.stdout, sys.stderr):
            output.reconfigure(line_buffering=output is sys.stderr or output.isatty())  # type: ignore[union-attr]
        os.environ.clear()
        os.environ.update(self._set | request["environment"])
        os.chdir(request["folder"])
        os.umask(request["umask"])
        stand_for(request["pid"])
        sys.argv = ["vignette", *request["arguments"]]
        connection.sendall(f"fork {os.getpid()}\n".encode())
        connection.close()
        return request["work"], request["arguments"]

    def _read(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The variables that libraries may have read when they were imported."""
        free = {*_DIFFERS, *self._set}
        return {k: v for k, v in environment.items() if k not in free and not k.startswith("VIGNETTE_")}


def _do(work: str, arguments: list[str]) -> int:
    if work == "dvc":
        from flows.rebuild.dvc_stage import main

        return main(*arguments)
    from flows.commands.parser import run

    return run(arguments)


def main(listener: int) -> None:
    """Serve on an open socket until the process is ended; each fork does its work and exits."""
    server = _Server(socket.socket(fileno=listener))
    server.load()
    status = _do(*server.serve())
    import gc

    gc.freeze()  # see flows/commands/cli.py
    sys.exit(status)


if __name__ == "__main__":
    main(int(sys.argv[1]))
