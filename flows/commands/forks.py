"""The process whose forks run the stages of a rebuild: ``python -m flows.commands.forks SOCKET``, an open socket."""

import socket
import sys

from flows.rebuild.forks import serve

MODULES = (
    "anyio._backends._asyncio",
    "configobj",
    "dulwich.ignore",
    "dvc.cachemgr",
    "dvc.data_cloud",
    "dvc.lock",
    "dvc.repo.reproduce",
    "dvc.repo.stage",
    "dvc.rwlock",
    "dvc.scm",
    "dvc.utils.strictyaml",
    "dvc_data.hashfile.status",
    "dvc_render",
    "flatten_dict",
    "flows.commands.parser",
    "flows.commands.probe",
    "flows.commands.stage",
    "flows.rebuild.dvc_stage",
    "flows.rebuild.flow_run",
    "flows.runtime.clients",
    "flows.runtime.domain",
    "flows.runtime.stage",
    "flows.stages.med_omit",
    "pandera.backends.pandas.builtin_checks",
    "pandera.backends.pandas.register",
    "pandera.strategies.pandas_strategies",
    "prefect.flow_engine",
    "pyarrow.pandas_compat",
    "pydantic.v1",
    "ruamel.yaml",
    "scmrepo.git",
    "tasks.measures.note_qa.time_questions",
    "tasks.simulator.app",
    "tasks.statistics.metric_rows",
)
"""What most stages import, and what libraries import when first used."""


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
