"""Runs one stage through DVC if it has changed: ``python -m flows.engine.dvc_stage PIPELINE:STAGE``.

It does what ``dvc repro --single-item`` does, without DVC's messages and waiting for the repository's lock, because a
rebuild runs several of these processes at once (`flows.engine.side_by_side`).
"""

import gc
import logging
import sys

from dvc.exceptions import DvcException
from dvc.repo import Repo

from flows.engine.lock_file import write_entries_alone

logging.getLogger("dvc").setLevel(logging.WARNING)


def main(target: str) -> int:
    """Run the stage ``target``; returns the exit status, after printing DVC's error if there was one."""
    write_entries_alone()
    try:
        with Repo(_wait_for_lock=True) as repo:
            ran = repo.reproduce([target], single_item=True)
    except DvcException as error:
        reasons = [str(error), *([str(error.__cause__)] if error.__cause__ else [])]
        print("dvc: " + ": ".join(reasons), file=sys.stderr)
        return 1
    if not ran:
        print(f"Stage '{target.rpartition(':')[2]}' didn't change, skipping", flush=True)
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1])
    gc.freeze()  # the process ends without a last look for garbage, which takes a fourth of its time
    sys.exit(status)
