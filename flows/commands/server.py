"""Starts or stops the Prefect server of this clone; it also stops after five idle minutes."""

from flows.rebuild.server import ensure_server, stop_server, supervise


def start() -> None:
    """Start the server if none runs; print its address."""
    print(ensure_server())


def stop() -> None:
    """Stop the server."""
    print("stopped" if stop_server() else "no server was running")


SUBCOMMANDS = [start, stop, supervise]
