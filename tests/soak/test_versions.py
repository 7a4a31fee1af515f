"""Each version of Python that README allows installs the locked packages, and its metric tables are those of 3.11."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.imports import ROOT

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3000)]

OFFLINE = ("Failed to fetch", "Failed to download", "error sending request", "No route", "dns error")
"""What uv says where packages are not at hand; anything else is a failure to install."""
RUN = """
from tasks.transport.instructions import use_instruction_set
use_instruction_set("avx2")  # before NumPy is imported
import json, pathlib, sys
from tests.snapshots.small import KEPT, default_run
from tests.snapshots.tables import changed
folder = pathlib.Path(sys.argv[1])
(folder / "run").mkdir()
(folder / "changed.json").write_text(json.dumps(changed(KEPT / "default", default_run(folder / "run"))))
"""


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_another_python_gives_the_tables_of_the_snapshots(version: str, tmp_path: Path) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin"))
    environment = {**os.environ, "PATH": ":".join([*map(str, pyenv), os.environ["PATH"]]), "OMP_NUM_THREADS": "1"}
    environment.setdefault("UV_FIND_LINKS", environment.get("PIP_FIND_LINKS", ""))

    def run(*command: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(part) for part in command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    if uv is None or run(uv, "python", "find", "--no-python-downloads", "--system", version).returncode != 0:
        pytest.skip(f"needs uv and Python {version}")
    python = tmp_path / "venv" / "bin" / "python"
    made = run(uv, "venv", "--quiet", "--no-python-downloads", "--python", version, tmp_path / "venv")
    assert made.returncode == 0, made.stderr
    packages = ["-c", "constraints.txt", "-e", "."]
    installed = run(uv, "pip", "install", "--quiet", "--python", python, *packages, "pytest")
    if any(words in installed.stderr for words in OFFLINE):
        pytest.skip(f"the packages for Python {version} are not at hand: {installed.stderr.strip()[-300:]}")
    assert installed.returncode == 0, installed.stderr
    done = run(python, "-c", RUN, tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads((tmp_path / "changed.json").read_text()) == {}
