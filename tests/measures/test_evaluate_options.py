"""Options of `vignette evaluate` that may be repeated."""

import json
from pathlib import Path

import pytest

from flows.commands.cli import run


def test_metrics_named_twice_are_all_computed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = {"id": "a", "reference": "The patient has a cough.", "output": "The patient has a cough."}
    (tmp_path / "texts.jsonl").write_text(json.dumps(text))
    options = ["--metrics", "overlap", "--metrics", "nonsense"]
    assert run(["evaluate", str(tmp_path / "texts.jsonl"), *options]) == 1
    assert "nonsense" in capsys.readouterr().err
    assert run(["evaluate", str(tmp_path / "texts.jsonl"), "--metrics", "nonsense", "--metrics", "overlap"]) == 1
    assert "did you mean" not in capsys.readouterr().err
    assert run(["evaluate", str(tmp_path / "texts.jsonl"), "--metrics", "medomit,overlap"]) == 1
    assert "; did you mean med_omit?" in capsys.readouterr().err
