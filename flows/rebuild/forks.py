"""Runs the stages of a rebuild, and DVC's step of each, as forks of one process that has imported once what all need.

A command finds that server by an environment variable and hands its work over, with its arguments, working directory,
environment and open streams; it waits and exits with the status of the fork. A guard, which is forked first, ends the
fork when the command is gone. Without a server, or where a fork could differ from a process of its own, the command
does the work itself. The part of the waiting command imports little.
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
COMMAND = (sys.executable, "-m", "flows.commands.forks")
"""Starts the server."""
FEWEST = 2
"""Stages of a rebuild for which a server is started: for a single one its start takes what it saves."""
KILLED = 128 + signal.SIGKILL
_DIFFERS = {"DVC_ROOT", "DVC_STAGE", "OLDPWD", "PWD", "SHLVL", "_"}
"""Environment variables that no library reads when it is imported, and that differ between stages; and VIGNETTE_*."""
NO_THREAD = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Keeps an allocator of Arrow, which is not its default, from starting a thread when it is loaded."""


def hand_over(work: str, arguments: Sequence[str]) -> int | None:
    """Exit status of ``work`` (`command` of vignette or `dvc` step), done by a fork; None where it is to be done here.

    Ends this process with the signal that ended the fork. A server that is gone counts as a killed fork.
    """
    if SOCKET not in os.environ:
        return None
    umask = os.umask(0o077)
    os.umask(umask)
    request = {
        "work": work,
        "arguments": list(arguments),
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "umask": umask,
        "code": _code(),
    }
    status = None
    with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
        connection.connect(os.environ[SOCKET])
        socket.send_fds(connection, [b" "], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        replies = connection.makefile("r")
        if replies.readline():
            status = KILLED
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the fork too, and prints nothing
            status = int(replies.readline() or KILLED)
    if status is not None and status < 0:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _code() -> list[str]:
    """The interpreter and the code that run."""
    return [os.path.realpath(sys.executable), os.path.realpath(__file__)]


@contextmanager
def stages_forked(count: int) -> Iterator[None]:
    """A context in which the ``count`` stages of a rebuild, started by this process, run as forks, on Linux."""
    from tempfile import TemporaryDirectory

    from flows.repository.processes import end_group, start_group

    if sys.platform != "linux" or count < FEWEST:
        yield
        return
    with TemporaryDirectory(prefix="vignette-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path = f"{folder}/forks"  # the folder is the user's alone
        try:
            listener.bind(path)
        except OSError:  # the path may be too long for a socket
            yield
            return
        listener.listen(128)
        added = {SOCKET: path, **NO_THREAD}
        os.environ.update(added)
        server = start_group([*COMMAND, str(listener.fileno())], {}, passed=[listener.fileno()])
        listener.close()  # a command is refused once the server is gone
        try:
            yield
        finally:
            for name in added:
                del os.environ[name]
            end_group(server)


def serve(listener: socket.socket, modules: Sequence[str]) -> tuple[str, list[str]]:
    """Import ``modules`` and serve until this process is ended; returns only in forks, with the work and arguments."""
    import gc
    from importlib import import_module

    before, server = dict(os.environ), os.getpid()
    gc.disable()
    for name in modules:
        import_module(name)
    added = {name: value for name, value in os.environ.items() if name not in before}
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the guards
    while True:
        connection, _ = listener.accept()
        alone = len([*Path("/proc/self/task").iterdir()]) == 1  # another thread's locks would stay locked in a fork
        if alone and os.fork() == 0:
            break
        connection.close()
    listener.close()
    request = _guard(connection, added, server)
    return request["work"], request["arguments"]


def _guard(connection: socket.socket, added: Mapping[str, str], server: int) -> dict[str, Any]:
    """Fork for a command and wait for the end of either; returns the command's request, in the fork.

    ``added`` are variables that imports add to the environment, which the command may not have.
    """
    import select

    from tasks.transport.processes import die_with

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with(server, signal.SIGTERM)
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    request: dict[str, Any] = json.loads(connection.makefile("rb").readline())
    if request["code"] != _code() or _read({**added, **request["environment"]}) != _read(os.environ):
        os._exit(0)  # without an answer: the command does its work itself
    guard = os.getpid()
    if (pid := os.fork()) == 0:
        os.setpgid(0, 0)
        die_with(guard, signal.SIGTERM)
        connection.close()
        _become(request, streams)
        return request

    def end(*_: object) -> None:
        os.killpg(pid, signal.SIGKILL)
        os._exit(KILLED)

    with suppress(ProcessLookupError):
        os.setpgid(pid, pid)  # whichever of the two is first
    signal.signal(signal.SIGTERM, end)
    with suppress(OSError):  # the command may be gone already, which the poll sees
        connection.sendall(b"forked\n")
    poll = select.poll()
    poll.register(os.pidfd_open(pid), select.POLLIN)
    poll.register(connection, select.POLLRDHUP)
    poll.poll()
    os.killpg(pid, signal.SIGKILL)  # the fork if its command is gone, else what it left
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):
        connection.sendall(f"{status}\n".encode())
    os._exit(0)


def _become(request: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Make this process one like that of the command."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    os.umask(request["umask"])
    sys.argv = ["vignette", *request["arguments"]]


def _read(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that libraries may have read when they were imported."""
    return {k: v for k, v in environment.items() if k not in _DIFFERS and not k.startswith("VIGNETTE_")}
