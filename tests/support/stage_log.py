"""Takes the place of the stage runner in test_side_by_side: logs begin and end of a stage in the working directory."""

import sys
import time
from pathlib import Path

LOG, MEETING, FAILS = Path("log"), Path("meeting"), Path("fails")


def log(line: str) -> None:
    with LOG.open("a") as file:
        file.write(f"{line}\n")


def main(name: str) -> int:
    """Stages named in `meeting` end only once all of them have begun; one named in `fails` fails."""
    log(f"begin {name}")
    meeting = set(MEETING.read_text().split()) if MEETING.exists() else set()
    deadline = time.monotonic() + 30
    while name in meeting and not {f"begin {other}" for other in meeting} <= set(LOG.read_text().splitlines()):
        if time.monotonic() > deadline:
            return 2
        time.sleep(0.01)
    log(f"end {name}")
    return int(FAILS.exists() and name in FAILS.read_text().split())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].rpartition(":")[2]))
