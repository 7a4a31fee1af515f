"""Questions about the user's sources, and what could not be written or answered."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from flows.engine.params import load_params
from flows.evaluation.folder import page
from flows.evaluation.work import Evaluation, evaluate, read_data
from schemas.params.evaluate import Evaluate
from tasks.evaluation.documents.fields import SOURCE
from tasks.llm.calls import Answer, Call
from tests.support.direct import DirectAsk
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage

SOURCES = (
    "Doctor: What brings you in?\nPatient: A dry cough. I take ibuprofen.\nDoctor: Any fever?\nPatient: No fever.",
    "Doctor: How are you?\nPatient: I have asthma, and a headache since Monday.\nDoctor: Chest pain?\nPatient: No.",
)
OWN = [{"question": "Which drug does the patient take?", "answer": "Ibuprofen"}]


def _rows() -> list[dict[str, Any]]:
    rows = [
        {"id": f"d{n}", "source": source, "outputs": {"copy": source, "weather": "It was a sunny day."}}
        for n, source in enumerate(SOURCES)
    ]
    rows[0]["questions"] = OWN
    return rows


def _evaluated(
    folder: Path, monkeypatch: pytest.MonkeyPatch, failing: Sequence[str] = (), **settings: Any
) -> Evaluation:
    """An evaluation in which calls whose key contains one of ``failing`` fail."""

    class Failing(DirectAsk):
        async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
            lost = [any(part in call.key for part in failing) for call in calls]
            answers = await super().__call__(calls)
            return [Answer(a.key, failure="refused") if gone else a for a, gone in zip(answers, lost, strict=True)]

    monkeypatch.setattr(MemoryStage, "ask", lambda self, role: Failing(f"vignette-{role}"))
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, _rows())))
    chosen = Evaluate(data=str(folder / "data.jsonl"), **settings)
    params = load_params(ROOT / "params.yaml")
    runtime = params.runtime.model_copy(update={"max_unscored_share": 1.0})
    stage = MemoryStage(params.model_copy(update={"runtime": runtime}), folder)
    return asyncio.run(evaluate(stage, chosen, read_data(chosen)))  # type: ignore[arg-type]


def test_questions_are_answered_from_each_output_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _evaluated(tmp_path, monkeypatch, metrics=["qa"])
    value = found.table("metrics").set_index(["system", "metric"])["value"]
    assert value["copy", "qa_free_text"] == value[SOURCE, "qa_free_text"] == 1
    assert value["weather", "qa_free_text"] == 0
    answers = found.table("answers").set_index(["document", "system", "form"])
    assert answers.loc[("d0", "copy", "free_text"), "wording"] == OWN[0]["question"]
    assert ("d0", "copy", "multiple_choice") not in answers.index  # the own question comes without choices
    assert ("d1", "copy", "multiple_choice") in answers.index
    pairs = found.table("comparisons").set_index(["system_a", "system_b", "metric"])
    assert pairs.loc[("copy", "weather", "qa_free_text"), "difference"] == -1
    assert SOURCE not in {name for pair in pairs.index for name in pair[:2]}
    shown = json.loads(page(found, "t", {}).split('id="data">')[1].split("</script>")[0])
    assert shown["documents"][0]["questions"][0]["answers"]["1"][1] == 0


def test_unanswered_and_ungenerated_questions_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _evaluated(tmp_path, monkeypatch, ["free_text/weather", "d1/generated/1/choices"], metrics=["qa"])
    rows = found.table("metrics").set_index(["system", "metric"])
    assert rows.loc[("weather", "qa_free_text"), ["n", "unscored"]].tolist() == [0, 2]
    assert rows.loc[("copy", "qa_free_text"), ["n", "unscored"]].tolist() == [1, 1]
    assert set(found.table("unscored")["reason"]) == {"refused"}


def test_outputs_that_could_not_be_written_are_unscored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"metrics": ["doclens", "med_omit"], "write": [0], "write_by": ["whole", "section"]}
    found = _evaluated(tmp_path, monkeypatch, ["d0/cited_note"], **settings)
    whole, parts = "writer, 0 examples", "writer by section, 0 examples"
    assert found.systems == ["copy", "weather", whole, parts]
    rows = found.table("metrics").set_index(["system", "metric", "item"])
    for system in (whole, parts):
        assert rows.loc[(system, "citation_recall", "all"), "unscored"] >= 1
        assert rows.loc[(system, "omission_count", "all"), ["n", "unscored"]].tolist() == [1, 1]
        assert f"cited_note of {whole}" in set(found.table("unscored")["step"])
    assert rows.loc[("copy", "omission_count", "all"), ["n", "unscored"]].tolist() == [2, 0]
    pairs = found.table("comparisons").set_index(["system_a", "system_b", "metric"])
    assert pairs.loc[("copy", whole, "omission_count"), ["failed_a", "failed_b"]].tolist() == [0, 1]
