"""The process whose forks run the stages of a rebuild: ``python -m flows.commands.forks SOCKET``, an open socket."""

import socket
import sys

from flows.rebuild.forks import serve

MODULES = (
    "dvc.repo.reproduce",
    "dvc.scm",
    "flows.commands.parser",
    "flows.commands.probe",
    "flows.commands.stage",
    "flows.rebuild.dvc_stage",
    "flows.rebuild.flow_run",
    "flows.runtime.clients",
    "flows.runtime.domain",
    "flows.stages.med_omit",
    "pandera.backends.pandas.builtin_checks",
    "prefect.flow_engine",
    "tasks.simulator.app",
)
"""What most stages import, and what libraries import when first used, where that takes more than a few hundredths of a
second.
"""


def main(listener: socket.socket) -> None:
    """Serve until the process is ended; each fork does its work and exits."""
    work, arguments = serve(listener, MODULES)
    if work == "dvc":
        from flows.rebuild import dvc_stage

        status = dvc_stage.main(*arguments)
    else:
        from flows.commands.parser import run

        status = run(arguments)
    import gc

    gc.freeze()  # see flows/commands/cli.py
    sys.exit(status)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
