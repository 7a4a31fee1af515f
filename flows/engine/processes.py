"""Whether the process that wrote a file still runs. Process ids are reused, so start times are compared."""

import psutil

SLACK_S = 2.0
"""Start times and file times come from clocks of different resolution."""


def runs_since(pid: int, written: float) -> bool:
    """Whether process ``pid`` runs and started before ``written``, the time of the file that names it.

    A process that started later has reused the id. ``written`` is in seconds since 1970.
    """
    try:
        process = psutil.Process(pid)
        return process.create_time() <= written + SLACK_S and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
