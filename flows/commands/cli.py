"""The ``vignette`` command: chooses the process that runs a command, and imports little before it has."""

import os
import sys
from pathlib import Path

from flows.rebuild.forks import hand_over

LITTLE_SPACE = 2**28
"""Free bytes of a disk below which no compiled modules are written."""
IN_STAGES = ("stage", "probe")
"""Commands of dvc.yaml, which a rebuild runs in forks of one process."""
PAID = ("audit", "evaluate", "probe", "trial")
"""Commands that ask models and are no stage: each ends, like a stage, when the shell that started it is gone."""


def main() -> None:
    """Run the command line of this process and exit with the command's status."""
    for name in ("stdin", "stdout", "stderr"):  # None where the shell closed it: what is read or printed would fail
        setattr(sys, name, getattr(sys, name) or Path(os.devnull).open("r+"))  # noqa: SIM115
    try:
        Path.cwd()
    except FileNotFoundError:
        sys.exit("vignette: the working directory was removed; change to one that exists")
    _use_code_of_working_directory()
    status = hand_over("command", sys.argv[1:]) if sys.argv[1:2] and sys.argv[1] in IN_STAGES else None
    if status is None:
        _spare_a_full_disk()
        from flows.commands.parser import run
        from tasks.transport.processes import end_with_parent

        if sys.argv[1:2] and sys.argv[1] in PAID:
            end_with_parent()
        status = run(sys.argv[1:])
        import gc

        gc.freeze()  # the process ends without a last look for garbage, which takes half a second after a stage
    sys.exit(status)


def _spare_a_full_disk() -> None:
    """Keep this process and its children from writing compiled modules where little space is left.

    Python leaves a compiled module that the disk cut short, and each later import of it fails with an EOFError, even
    when there is space again.
    """
    import shutil

    if shutil.disk_usage(Path.cwd()).free < LITTLE_SPACE:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _use_code_of_working_directory() -> None:
    """Restart with the code of the working directory where that is another checkout of vignette, and the user's own.

    A console script imports the installed checkout. An experiment (`dvc exp run --temp`), a worktree or a second clone
    that shares the environment would otherwise run code that its commit does not hold.
    """
    local, own = Path.cwd() / "flows" / "__init__.py", Path(__file__).parents[1] / "__init__.py"
    if not local.exists() or local.samefile(own):  # a folder without it is no package: -m would find the installed one
        return
    from flows.repository.workspace import is_own

    if is_own(Path.cwd()):
        os.environ.pop("PYTHONSAFEPATH", None)  # with it, -m would find the installed checkout again, and so for ever
        os.execv(sys.executable, [sys.executable, "-m", "flows.commands.cli", *sys.argv[1:]])


if __name__ == "__main__":
    main()
