"""A PostgreSQL server for one test session, from the system's packages."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ACCOUNT = "postgres"
"""The system account that runs the server where tests run as root, which PostgreSQL refuses."""


def programs() -> Path | None:
    """The folder of the newest installed server's programs; None if none is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server with an empty cluster and its socket in a new folder; yields its address without a database."""
    folder, binaries = Path(tempfile.mkdtemp(prefix="pg")), programs()
    assert binaries is not None, "no PostgreSQL is installed"
    prefix: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, ACCOUNT)
        prefix = ["runuser", "-u", ACCOUNT, "--"]

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run([*prefix, str(binaries / program), *arguments], capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, f"{program}: {done.stdout} {done.stderr}"

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "vignette", "--auth=trust", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
    run("pg_ctl", "-D", data, "-l", str(folder / "log"), "-w", "-o", options, "start")
    try:
        yield f"postgresql+psycopg://vignette@/{{database}}?host={folder}"
    finally:
        run("pg_ctl", "-D", data, "-m", "fast", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def create_database(server: str, name: str) -> str:
    """The address of a new, empty database of a server."""
    import psycopg

    with psycopg.connect(server.format(database="postgres").replace("+psycopg", ""), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    return server.format(database=name)
