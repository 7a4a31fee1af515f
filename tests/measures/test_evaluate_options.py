"""Options of `vignette evaluate` that may be repeated."""

import json
from pathlib import Path

import pytest

from flows.commands.cli import run
from flows.evaluation.work import read_data
from schemas.errors import SourceError
from schemas.params.measures import Evaluate


@pytest.mark.parametrize("name", ["notes", "systems", "judge", "all", "majority of the judges"])
def test_a_system_cannot_have_the_name_of_other_rows(tmp_path: Path, name: str) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text(json.dumps({"id": "1", "source": "A cough.", "outputs": {name: "A cough."}}))
    with pytest.raises(SourceError, match=f"d.jsonl: system {name}: .*name it otherwise"):
        read_data(Evaluate(data=str(file), metrics=["doclens"]))


def test_a_returned_form_of_an_unknown_system_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flows.evaluation.api.run_evaluation", None)
    text = {"id": "a", "source": "The patient has a cough.", "outputs": {"copy": "A cough.", "short": "A cough."}}
    (tmp_path / "texts.jsonl").write_text(json.dumps(text))
    (tmp_path / "r1.json").write_text("{}")
    options = ["--returned", f"Shrt={tmp_path / 'r1.json'}", "--out", str(tmp_path / "out")]
    assert run(["evaluate", str(tmp_path / "texts.jsonl"), *options]) == 1
    assert "no such system; expected copy, short; did you mean short?" in capsys.readouterr().err


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
