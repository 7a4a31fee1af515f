"""The functions of the module `vignette`: notes and audits from Python."""

import json
from pathlib import Path

import pytest

import vignette
from schemas.errors import ParamsError
from tests.support.cases import each

DOCUMENT = {"id": "1", "source": "Dry cough. No fever.", "reference": "Dry cough.", "output": "Dry cough."}


def test_notes_are_loaded_as_evaluate_takes_them(tmp_path: Path) -> None:
    (file := tmp_path / "one.jsonl").write_text(json.dumps(DOCUMENT) + "\n")
    notes = vignette.load_notes(file)
    assert notes["id"].tolist() == ["1"] and notes["source"].tolist() == [[DOCUMENT["source"]]]
    found = vignette.evaluate(notes, metrics=["overlap"]).metrics.set_index("metric")
    with pytest.raises(ParamsError, match="--judge: no default"):
        vignette.evaluate(notes, metrics=["doclens"])
    assert found.loc["rouge1_f", "value"] == 1.0 and found.loc["rouge1_f", "n"] == 1


@each("refused", [{"judges": "simulator"}, {"judges": []}, {"cases": 0}, {"takes": 0}])
def test_an_audit_is_of_a_list_of_judges_and_of_cases_and_takes(refused: dict[str, object]) -> None:
    with pytest.raises(ParamsError, match="expected a list of judges, and 1 or more"):
        vignette.audit(**{"judges": ["simulator"]} | refused)
