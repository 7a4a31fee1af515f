"""What a rebuild cannot use of params and endpoints ends it with one line, before anything is built."""

from pathlib import Path

import pytest
import yaml
from starlette.responses import JSONResponse

from flows.commands.parser import run
from flows.repository.workspace import WORKSPACE
from tests.support.cases import merged
from tests.support.hosted import hosted
from tests.support.imports import ROOT
from tests.support.repository import git, write_files

NOBODY = "http://127.0.0.1:9/v1"
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text())


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of one stage, which was never run."""
    pipeline = "stages: {a: {cmd: touch built, outs: [built]}}\n"
    project = {".dvc/config": "", "pyproject.toml": "[project]\nname = 'vignette'\n", "dvc.yaml": pipeline}
    write_files(tmp_path, project)
    git(tmp_path, "init", "--quiet")
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.delenv(WORKSPACE, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said_of(change: dict, capsys: pytest.CaptureFixture[str]) -> str:
    """The line on standard error of a rebuild whose params have a change."""
    Path("params.yaml").write_text(yaml.safe_dump(merged(PARAMS, change)))
    assert run(["repro"]) == 1 and not Path("built").exists() and not Path("dvc.lock").exists()
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sample": {"records": "many"}}, ["params.yaml", "sample.records is 'many'", "expected a valid integer"]),
        (
            {"roles": {"judge": {"base_url": NOBODY}}, "runtime": {"sending": {"judge": {"retries": 0}}}},
            ["role judge", NOBODY],
        ),
        ({"roles": {"judge": {"model": "no-such-model"}}}, ["no-such-model", "vignette-judge"]),
    ],
)
def test_bad_params_are_one_line(
    clone: Path, capsys: pytest.CaptureFixture[str], change: dict, words: list[str]
) -> None:
    line = said_of(change, capsys)
    assert [word for word in words if word not in line] == []


def test_a_missing_key_is_named_by_its_variable(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refusal = JSONResponse({"error": {"message": "You did not provide an API key."}}, 401)
    with hosted(lambda *_: refusal) as endpoint:
        role = {"base_url": endpoint.base_url, "model": "gpt-x"}
        sending = {"judge": {"api_key_env": "NO_SUCH_KEY_HERE"}}
        line = said_of({"roles": {"judge": role}, "runtime": {"sending": sending}}, capsys)
    assert endpoint.base_url in line and "NO_SUCH_KEY_HERE is not set" in line
