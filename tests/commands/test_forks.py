"""A fork of the process that runs a rebuild's stages does DVC's step or a command, and ends with its status."""

import pytest

from flows.commands import forks, parser
from flows.rebuild import dvc_stage
from tests.support.cases import each


@each("work, status", [("dvc", 3), ("command", 4)])
def test_a_fork_does_the_work_that_was_handed_over(work: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "serve", lambda _, modules: (work, ["stage@a"]))
    monkeypatch.setattr(dvc_stage, "main", lambda name: {"stage@a": 3}[name])
    monkeypatch.setattr(parser, "run", lambda arguments: {"stage@a": 4}[arguments[0]])
    monkeypatch.setattr("gc.freeze", lambda: None)
    with pytest.raises(SystemExit) as ended:
        forks.main(None)  # type: ignore[arg-type]
    assert ended.value.code == status
