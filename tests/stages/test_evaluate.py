"""Evaluations of the third pipeline: their entries in evaluations/params.yaml, and the files of their stage."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from flows.repository.pipeline import stage_files
from flows.stages import evaluate
from flows.stages.evaluate import load_evaluation
from schemas.errors import ParamsError
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.params import shipped

ROW = {"id": "d", "source": "He has a dry cough. No fever.", "reference": "Dry cough.", "outputs": {"s": "He coughs."}}


def written(folder: Path, /, **entry: Any) -> Path:
    """params.yaml with the evaluation ``mine`` of ``folder``."""
    file = folder / "params.yaml"
    file.write_text(json.dumps({"evaluations": {"mine": {"folder": str(folder), "data": "cases.jsonl", **entry}}}))
    return file


def test_the_stage_writes_its_declared_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cases.jsonl").write_text(json.dumps(ROW))
    (tmp_path / "evaluations").mkdir()
    written(tmp_path, metrics=["doclens"]).rename(tmp_path / "evaluations" / "params.yaml")
    (tmp_path / "evaluations" / "dvc.yaml").write_text((ROOT / "evaluations" / "dvc.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    files = stage_files(Path("evaluations/dvc.yaml"), "evaluate@mine")
    stage = MemoryStage(shipped(), tmp_path, files.name)
    asyncio.run(evaluate.run(stage))  # type: ignore[arg-type]
    assert files.dep(tmp_path.name) == tmp_path
    assert set(stage.tables) | {"report"} == set(files.outs)
    assert stage.tables["grounded"].empty
    assert "claims of the reference" in (tmp_path / "report").read_text()


def test_files_of_an_evaluation_are_below_its_folder(tmp_path: Path) -> None:
    assert load_evaluation("mine", written(tmp_path)).claims is None
    chosen = load_evaluation("mine", written(tmp_path, outputs=["s=s.csv", "all.csv"], claims="c.csv", own=["m.py"]))
    assert (chosen.data, chosen.claims) == (f"{tmp_path}/cases.jsonl", f"{tmp_path}/c.csv")
    assert (chosen.outputs, chosen.own) == ([f"s={tmp_path}/s.csv", f"{tmp_path}/all.csv"], [f"{tmp_path}/m.py"])


def test_a_defect_of_an_entry_is_named(tmp_path: Path) -> None:
    for entry, said in (
        ({"own": ["../shown.py"]}, r"mine\.own: \.\./shown\.py is not in .*: its changes are not seen"),
        ({"planted": "few"}, r"params\.yaml: evaluations\.mine\.planted is 'few'; Input should be"),
        ({"folder": None}, r"params\.yaml: evaluations\.mine: expected an entry with folder and data"),
    ):
        with pytest.raises(ParamsError, match=said):
            load_evaluation("mine", written(tmp_path, **entry))
