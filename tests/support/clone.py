"""A scratch copy of the working tree in which a test can run the DAG."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from flows.repository.pipeline import stage_files
from tests.support.imports import ROOT
from tests.support.params import SAMPLED
from tests.support.repository import commit, git

SMALL: dict[str, Any] = {
    "sample__records": 60,
    "visits__patients": 12,
    "visits__long_visits": [20],
    "history_qa__questions": 2,
    "history_qa__long_questions": 6,
    "history_qa__planted_questions": 6,
    "summarise__patients": 6,
    "summarise__judged": 3,
    "summarise__words": [60, 240],
    "summarise__doses": [0, 4],
    "report__notes": 20,
    "network__draws": 100,
    "network__held_out": 500,
    "baselines__draws": 100,
    "baselines__seeds": [0, 1],
    "baselines__xgboost__verify": 2,
    "baselines__neural__two_values__epochs": 3,
    "baselines__neural__more_values__epochs": 3,
    **{f"{stage}__notes": 15 for stage in SAMPLED},
    "note_qa__patients_by_notes": [2, 2, 2],
    "note_qa__judge_takes": 2,
    "note_qa__planted_questions": 6,
    "review__with_symptoms": 6,
    "review__without_symptoms": 3,
    "calibrate__notes": 10,
    "planted_errors__each": 10,
    "planted_errors__rounds": 4,
}
"""Params under which the whole DAG runs in a few minutes."""


class Clone:
    """A separate git and DVC repository in ``folder``, with the working tree's files and no artefacts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        for name in files:
            source = ROOT / name
            if source.is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, folder / name)
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
            self.git(*command)

    def copied_to(self, folder: Path) -> "Clone":
        """Return a copy with all its artefacts in ``folder``, which must not exist."""
        shutil.copytree(self.folder, folder, symlinks=True)
        clone = object.__new__(Clone)
        clone.folder = folder
        return clone

    def git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)

    def set_params(self, **values: Any) -> None:
        """Set params by dotted name (dots written as double underscores) and commit."""
        file = self.folder / "params.yaml"
        content = yaml.safe_load(file.read_text())
        for name, value in values.items():
            *outer, last = name.split("__")
            place = content
            for part in outer:
                place = place[part]
            place[last] = value
        file.write_text(yaml.safe_dump(content, sort_keys=False))
        self.git("commit", "-qam", "params")

    def roles_at(self, base_url: str) -> dict[str, Any]:
        """The roles of params.yaml, all asked at ``base_url``."""
        roles = yaml.safe_load((self.folder / "params.yaml").read_text())["roles"]
        return {name: role | {"base_url": base_url} for name, role in roles.items()}

    def commit(self, message: str) -> None:
        """Commit everything."""
        commit(self.folder, message)

    def outputs(self, stage: str) -> dict[str, bytes]:
        """Contents of the files that a stage writes, by path."""
        declared = [self.folder / out for out in stage_files(self.folder / "dvc.yaml", stage).outs.values()]
        files = [file for out in declared for file in (sorted(out.rglob("*")) if out.is_dir() else [out])]
        return {str(file.relative_to(self.folder)): file.read_bytes() for file in files if file.is_file()}

    @property
    def environment(self) -> dict[str, str]:
        left_out = ("PREFECT_", "DVC_", "MLFLOW_", "VIGNETTE_", "PYTHONDONTWRITEBYTECODE")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
        return {**kept, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(self, *command: str, timeout: float = 2400, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run ``python -m ...`` in the clone; on failure the output is in the error."""
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
        return done

    def vignette(self, *arguments: str, timeout: float = 2400, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a ``vignette`` command with the clone's code; on failure the output is in the error."""
        return self.run("flows.commands.cli", *arguments, timeout=timeout, check=check)

    def processes(self) -> list[str]:
        """Command lines of processes that run in the clone; a finished run must leave none."""
        import psutil

        found = []
        for process in psutil.process_iter(["cwd", "cmdline", "pid"]):
            cwd = process.info["cwd"] or ""
            if Path(cwd).is_relative_to(self.folder) and process.info["pid"] != os.getpid():
                found.append(" ".join(process.info["cmdline"] or []))
        return found
