"""Processes of this machine: this one, its ancestors, and whether a process still runs. Imports psutil.

Process ids are reused, so a process is known by its id and its start time.
"""

import os
import socket

import psutil

SLACK_S = 2.0
"""Start times and file times come from clocks of different resolution."""

Process = tuple[str, int, float]
"""Host, process id and start time in seconds since 1970."""


def this_process() -> Process:
    """The process that calls."""
    return socket.gethostname(), os.getpid(), psutil.Process().create_time()


def ancestors() -> list[psutil.Process]:
    """The parent of this process, its parent and so on; empty where the system does not tell."""
    try:
        return psutil.Process().parents()
    except psutil.Error:
        return []


def runs(process: psutil.Process) -> bool:
    """Whether a process still runs. One that ended but that its parent has not waited for does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_alive(pid: int, born: float) -> bool:
    """Whether the process ``pid`` of this machine that started at ``born`` still runs."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - born) < 1 and runs(process)
    except psutil.NoSuchProcess:
        return False


def runs_since(pid: int, written: float) -> bool:
    """Whether process ``pid`` runs and started before ``written``, the time of the file that names it.

    A process that started later has reused the id. ``written`` is in seconds since 1970.
    """
    try:
        process = psutil.Process(pid)
        return process.create_time() <= written + SLACK_S and runs(process)
    except psutil.NoSuchProcess:
        return False
