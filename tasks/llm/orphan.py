"""Detects that the process which started this one is gone, so that a stage whose run was killed stops calling.

Killing `dvc` leaves the shell that it ran the stage in, so the parent alone does not tell: every process from here up
to `dvc` is watched. Started by hand, only the parent is; under nohup, none.
"""

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil

from schemas.errors import OrphanError

CHECK_EVERY_S = 1.0
STAGE_RUNNER = "flows.rebuild.dvc_stage"
"""The module that runs one stage through DVC, in the place of the command ``dvc``."""


def end_with_parent() -> None:
    """From now on, end this process and what it started when a process that it depends on is gone."""
    threading.Thread(target=_end_orphan, args=(ParentWatch(),), daemon=True).start()


def _end_orphan(watch: "ParentWatch") -> None:
    try:
        while True:
            time.sleep(CHECK_EVERY_S)
            watch.check()
    except OrphanError as error:
        print(error, file=sys.stderr)
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
        os._exit(1)


class ParentWatch:
    """Watches the processes that this one depends on."""

    def __init__(self) -> None:
        self._watched = _depended_on()
        self._checked = time.monotonic()

    def check(self) -> None:
        """Raise OrphanError when one of them is gone; looks at most once a second, so each call may ask."""
        now = time.monotonic()
        if now - self._checked < CHECK_EVERY_S:
            return
        self._checked = now
        for process, name in self._watched:
            if not _runs(process):
                raise OrphanError(
                    f"{name} (process {process.pid}), which started this stage, is gone; no further call is sent. "
                    "Every reply so far is kept: run again to go on"
                )


def dvc_process() -> psutil.Process | None:
    """The dvc that runs this stage; None when it was started by hand."""
    try:
        return next((process for process in psutil.Process().parents() if _is_dvc(process)), None)
    except psutil.Error:
        return None


def _depended_on() -> list[tuple[psutil.Process, str]]:
    try:
        ancestors = psutil.Process().parents()
    except psutil.Error:
        return []
    named = [(process, _name(process)) for process in ancestors]
    for position, (process, _) in enumerate(named):
        if _is_dvc(process):
            return named[: position + 1]
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN or os.getppid() == 1:
        return []
    return named[:1]


def _name(process: psutil.Process) -> str:
    try:
        return "dvc" if _is_dvc(process) else process.name()
    except psutil.Error:
        return "a process"


def _is_dvc(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return any(Path(word).stem == "dvc" for word in words[:2]) or words[1:3] in (["-m", "dvc"], ["-m", STAGE_RUNNER])


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
