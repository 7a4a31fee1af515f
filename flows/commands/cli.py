"""``vignette``: dispatches to the commands of this package."""

import os
import sys
from importlib import import_module
from pathlib import Path

COMMANDS = {
    "stage": "flows.commands.stage",
    "repro": "flows.commands.repro",
    "watch": "flows.commands.watch",
    "compare": "flows.commands.compare",
    "estimate": "flows.commands.estimate",
    "probe": "flows.commands.probe",
    "store": "flows.commands.store",
    "rank": "flows.commands.rank",
    "import": "flows.commands.import_forms",
    "server": "flows.engine.server",
}


def main() -> int:
    """Run the named command; returns its exit status."""
    _use_code_of_working_directory()
    name, *arguments = sys.argv[1:] or [""]
    if name not in COMMANDS:
        print(f"vignette: commands are {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    return int(import_module(COMMANDS[name]).main(arguments) or 0)


def _use_code_of_working_directory() -> None:
    """Restart with the code of the working directory where that is another checkout of vignette.

    A console script imports the installed checkout. An experiment (`dvc exp run --temp`), a worktree or a second clone
    that shares the environment would otherwise run code that its commit does not hold.
    """
    local = Path.cwd() / "flows" / "commands" / "cli.py"
    if local.exists() and not local.samefile(__file__):
        os.execv(sys.executable, [sys.executable, "-m", "flows.commands.cli", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
