"""Takes the place of the stage runner in test_flow: logs begin and end of a stage in the working directory."""

import os
import signal
import sys
import time
from pathlib import Path

LOG, MEETING, FAILS, KILLED = Path("log"), Path("meeting"), Path("fails"), Path("killed")


def log(line: str) -> None:
    with LOG.open("a") as file:
        file.write(f"{line}\n")


def main(name: str) -> int:
    """Stages in `meeting` end once all of them have begun; `fails` has exit statuses, `killed` who is killed."""
    log(f"begin {name}")
    meeting = set(MEETING.read_text().split()) if MEETING.exists() else set()
    deadline = time.monotonic() + 30
    while name in meeting and not {f"begin {other}" for other in meeting} <= set(LOG.read_text().splitlines()):
        if time.monotonic() > deadline:
            return 2
        time.sleep(0.01)
    log(f"end {name}")
    if KILLED.exists() and LOG.read_text().count(f"begin {name}\n") <= KILLED.read_text().count(name):
        os.kill(os.getpid(), signal.SIGKILL)
    fails = dict(line.split() for line in FAILS.read_text().splitlines()) if FAILS.exists() else {}
    return int(fails.get(name, 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rpartition(":")[2]))
