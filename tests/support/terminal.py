"""Runs a script in a terminal."""

import os
import pty
import re
import subprocess
import sys
import termios

from tests.support.imports import ROOT


def screen(script: str, columns: int) -> str:
    """What a terminal of that width gets from a script."""
    here, there = pty.openpty()
    termios.tcsetwinsize(there, (30, columns))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-c", script, "alone"]
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=there, stderr=there, stdin=there)
    os.close(there)
    got = b""
    try:
        while more := os.read(here, 65536):
            got += more
    except OSError:  # the other end is closed
        pass
    os.close(here)
    assert process.wait() == 0, got.decode()
    return got.decode()


def drawn(text: str) -> list[str]:
    """The lines of all frames, without what moves the cursor."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))
