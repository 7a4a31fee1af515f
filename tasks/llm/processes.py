"""Processes that use a response store: which of them still run, on this machine or another."""

import os
import socket
import time

import psutil

from tasks.llm.database import Connection

HEARTBEAT_S = 20.0
"""Seconds after which a process shows again that it is alive, where several machines use the store."""

SILENT_S = 120.0
"""Seconds without a sign of life after which a process on another machine counts as gone."""

Process = tuple[str, int, float]
"""Host, process id and start time; ids are reused."""


def this_process() -> Process:
    """The process that calls."""
    return socket.gethostname(), os.getpid(), psutil.Process().create_time()


def beat(connection: Connection) -> None:
    """Record that this process is alive."""
    sql = "INSERT INTO processes VALUES (?, ?, ?, ?) ON CONFLICT (host, pid, born) DO UPDATE SET seen = excluded.seen"
    connection.execute(sql, (*this_process(), time.time()))


def is_running(connection: Connection, process: Process) -> bool:
    """Whether a process still runs: looked up on this machine, by its last sign of life on another."""
    host, pid, born = process
    if host not in ("", socket.gethostname()):
        sql = "SELECT seen FROM processes WHERE host = ? AND pid = ? AND born = ?"
        row = connection.execute(sql, process).fetchone()
        return row is not None and time.time() - row[0] < SILENT_S
    try:
        found = psutil.Process(pid)
        return abs(found.create_time() - born) < 1 and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
