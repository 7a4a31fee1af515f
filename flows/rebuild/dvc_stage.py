"""Runs one stage through DVC if it has changed: ``python -m flows.rebuild.dvc_stage PIPELINE:STAGE``.

It does what ``dvc repro --single-item`` does, keeps the run in DVC's run-cache, and tells by its exit status what
happened. Stage `record` is run as well where it recorded another lineage than that of dvc.lock. Several may run at
once: DVC holds its lock, which the others wait for, for everything but the command.
"""

import gc
import logging
import os
import re
import signal
import sys
from pathlib import Path

from flows.rebuild.forks import hand_over

UNCHANGED = 64
"""Exit status: inputs and outputs are as dvc.lock says, and the stage was skipped."""
NO_MORE_CALLS = 65
"""Exit status of `vignette stage`, which is passed on: no other stage that calls a model can succeed."""
BUSY = 75
"""Exit status: another process of DVC used the same files (EX_TEMPFAIL)."""


def main(target: str) -> int:
    """Run the stage ``target``; returns the exit status, after printing DVC's error if there was one."""
    from dvc.exceptions import DvcException
    from dvc.lock import LockError
    from dvc.repo import Repo

    from flows.repository.lock import keep_lock, read_lock
    from tasks.tracking.lineage import RECORD_STAGE, record_is_behind
    from tasks.transport.processes import end_with_parent

    pipeline, _, name = target.rpartition(":")
    lock = Path(pipeline).with_suffix(".lock")
    end_with_parent()
    logging.getLogger("dvc").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, _end_group)
    try:
        with Repo(_wait_for_lock=True) as repo:
            is_behind = name == RECORD_STAGE and record_is_behind(read_lock(lock))  # for DVC it may be up to date
            stages = repo.reproduce([target], single_item=True, force=is_behind)
            if not stages:
                return UNCHANGED
            with repo.lock:  # no other process of DVC writes now
                for stage in stages:  # DVC itself leaves out those with an output that git tracks
                    repo.stage_cache.save(stage)
                keep_lock(lock)
            return 0
    except DvcException as error:
        cause = error.__cause__
        print("dvc: " + ": ".join(str(said) for said in (error, cause) if said), file=sys.stderr)
        return BUSY if isinstance(cause, LockError) else command_status(str(cause))


def command_status(message: str) -> int:
    """The exit status of a stage's command, from DVC's message: 128 and its number for a signal, 1 if it has none."""
    found = re.search(r"exited with (-?\d+)$", message)
    status = int(found[1]) if found else 1
    return 128 - status if status < 0 else status


def _end_group(*_: object) -> None:
    """End the stage as well, whose shell does not pass the signal on."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(143)


if __name__ == "__main__":
    status = hand_over("dvc", sys.argv[1:])
    if status is None:
        status = main(sys.argv[1])
    gc.freeze()  # the process ends without a last look for garbage, which takes a fourth of its time
    sys.exit(status)
