"""Starts or stops the Prefect server of this clone; it also stops after five idle minutes."""

import os
from typing import Annotated

import typer

from flows.rebuild.server import LOOPBACK, ensure_server, serve, stop_server
from flows.repository.workspace import root


def start() -> None:
    """Start the server if none runs; print its address."""
    os.chdir(root())  # its process imports from the working directory, whose files may be another's
    print(ensure_server())


def stop() -> None:
    """Stop the server."""
    print("stopped" if stop_server() else "no server was running")


def supervise(
    port: int,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = LOOPBACK,
    name: Annotated[list[str] | None, typer.Option(help="A further name under which it is reached.")] = None,
    stay: Annotated[bool, typer.Option("--stay", help="Serve other clones as well, and never stop.")] = False,
) -> None:
    """Serve Prefect to who knows the token in PREFECT_SERVER_API_AUTH_STRING, until no process of this clone uses it.

    With --stay, it serves several machines (docs/machines.md). Only loopback and the given names are answered.
    """
    serve(port, host, name or (), stay=stay)


SUBCOMMANDS = [start, stop, supervise]
