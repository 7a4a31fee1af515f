"""`make setup` installs into the environments of its clone, whatever the path of that and the settings of the user."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.imports import ROOT
from tests.support.repository import write_files

NOTE = 'printf "%s|%s|%s|%s\\n" "$0" "$*" "${UV_SYSTEM_PYTHON-}" "${PIP_USER-}" >> "$LOG"'
PYTHON = f"""#!/bin/bash
[ "$1" = -m ] && [ "$2" = venv ] || exit 0
mkdir -p "$3/bin"
for name in python uv; do
    printf '%s\\n' '#!/bin/bash' '{NOTE}' '[[ $FAILING != *${{0##*/}}* ]]' > "$3/bin/$name"
    chmod +x "$3/bin/$name"
done
"""
"""A Python that makes an environment whose programs note how they are run."""


@pytest.mark.parametrize("target", [".venv/.ready", ".venv-exchange/.ready"])
def test_packages_go_into_the_environment_of_a_clone_whose_path_has_blanks(tmp_path: Path, target: str) -> None:
    clone, python, log = tmp_path / "my clone", tmp_path / "my python" / "python3", tmp_path / "log"
    empty = dict.fromkeys(("pyproject.toml", "constraints.txt", "tests/exchange/requirements.txt"), "")
    write_files(clone, {"Makefile": (ROOT / "Makefile").read_bytes(), **empty})
    write_files(python.parent, {python.name: PYTHON})
    python.chmod(0o755)
    environment = {**os.environ, "UV_SYSTEM_PYTHON": "1", "PIP_USER": "1", "VIRTUAL_ENV": "/other", "LOG": str(log)}
    environment["FAILING"] = ""
    command = ["make", target, f"PYTHON={python}"]
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = [line.split("|") for line in log.read_text().splitlines()]
    uv = [(arguments, system) for program, arguments, system, _ in ran if program == ".venv/bin/uv"]
    place = f"--python {Path(target).parent}/bin/python "
    assert uv and place in uv[-1][0] and {system for _, system in uv} == {""}
    assert "--compile-bytecode" in uv[0][0], "the first run does not compile the packages"
    pip = [(arguments.endswith(" uv"), user) for program, arguments, _, user in ran if program.endswith("/python")]
    assert pip == [(True, "")], "pip installs uv, and nothing where uv succeeds"
    again = ["make", "--always-make", ".venv/.ready", f"PYTHON={python}", "TORCH_INDEX=http://127.0.0.1:9/cpu"]
    for failing, status, said in (
        ("uv", 0, "pip is tried"),
        ("uv python", 2, "the network and http://127.0.0.1:9/cpu"),
    ):
        environment["FAILING"] = failing
        done = subprocess.run(again, cwd=clone, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status and said in done.stderr, done.stderr
