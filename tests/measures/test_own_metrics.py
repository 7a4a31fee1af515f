"""A metric of one's own, as the docs show it: by `evaluate`, by the pipeline, and what goes wrong with one."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.parser import run
from flows.evaluation.folder import evaluation_files
from flows.evaluation.work import evaluate_data, read_data
from flows.repository.params import load_params
from flows.runtime.tables import check
from schemas.errors import SourceError
from schemas.params.measures import Evaluate
from schemas.tables.evaluate import table_schema
from tasks.llm.calls import Call
from tasks.measures.measure import figures
from tasks.measures.own import Own, known_rows, load_metrics
from tasks.texts.document import Document
from tests.support.counts import check_counts
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.scripted import ScriptedAsk

PAGE = (ROOT / "docs" / "own-metric.md").read_text()
SHOWN = re.findall(r"```python\n(from vignette import metric\n.*?)```", PAGE, re.DOTALL)
(CASED,) = re.findall(r"```python\n(import re\n\nfrom vignette import metric\n.*?)```", PAGE, re.DOTALL)
ROWS = [
    {
        "id": f"d{n}",
        "source": f"dry cough for {n} weeks",
        "reference": "cough",
        "outputs": {"whole": f"Dry cough for {n} weeks", "one": "cough"},
    }
    for n in range(10)
]
"""Of the five words of each source, the first system keeps all and the second one."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "shown.py").write_text(SHOWN[0])
    return tmp_path


def test_cases_of_a_metric_tell_how_far_it_is_from_the_known_scores(folder: Path) -> None:
    (folder / "cased.py").write_text(CASED)
    (own,) = load_metrics([folder / "cased.py"])
    documents = [Document(row["id"], (row["source"],), reference=row["reference"]) for row in ROWS]
    verdicts, unscored = asyncio.run(Own([own], []).judge_cases(lambda _: ScriptedAsk(str), documents, 1))
    assert not unscored and len(verdicts) == 2 * len(ROWS)
    rows = {row["item"]: row for row in known_rows(verdicts)}
    assert (rows["all kept"]["value"], rows["none kept"]["value"], rows["all"]["n"]) == (0, 0, 20)
    check_counts(known_rows, verdicts, "value")
    worse = replace(own, score=lambda texts: {text.id: 0.25 for text in texts})
    found = known_rows(asyncio.run(Own([worse], []).judge_cases(lambda _: ScriptedAsk(str), documents, 1))[0])
    assert {row["item"]: row["value"] for row in found} == {"all": -0.25, "all kept": -0.75, "none kept": 0.25}
    (folder / "cased.py").write_text(CASED.replace("(0, 1)", "(0, 90)"))
    with pytest.raises(SourceError, match="numbers kept: has cases, and bounds"):
        load_metrics([folder / "cased.py"])


def test_a_file_is_run_once_and_again_after_an_edit(tmp_path: Path) -> None:
    file, runs = tmp_path / "runs.py", tmp_path / "runs.txt"
    code = f"""from vignette import metric
open({str(runs)!r}, "a").write(".")
@metric("length")
def length(texts):
    return {{text.id: len(text.output) for text in texts}}
"""
    for content in (code, code, code + "# edited"):
        file.write_text(content)
        load_metrics([file])
    assert runs.read_text() == ".."


def test_its_scores_get_intervals_comparisons_and_a_place_on_the_page(folder: Path) -> None:
    chosen = Evaluate(data=str(folder / "cases.jsonl"), metrics=["overlap"], own=[str(folder / "shown.py")])
    stage = MemoryStage(load_params(ROOT / "params.yaml"), folder)
    made = asyncio.run(evaluate_data(stage, chosen, read_data(chosen)))  # type: ignore[arg-type]
    for stem, table in made.tables.items():
        check(table, table_schema(stem), stem)
    rows = made.tables["metrics"].set_index(["system", "metric"])
    assert rows.loc[("whole", "kept words"), ["value", "n", "unscored"]].tolist() == [1, 10, 0]
    one = rows.loc[("one", "kept words")]
    assert one["value"] == pytest.approx(0.2) and 0 < one["low"] < 0.2 < one["high"] < 1
    compared = made.tables["comparisons"].set_index("metric").loc["kept words"]
    assert compared["difference"] == pytest.approx(-0.8) and compared["n"] == 10 and compared["changed"]
    page = evaluation_files(made, {"models": {}}, "t")["report.html"].decode()
    assert "kept words" in page and page.count("Share of the source&#39;s words that the output has.") == 3


def test_a_number_that_is_not_defined_does_not_spoil_an_evaluation(folder: Path) -> None:
    (folder / "shown.py").write_text(
        "from vignette import metric\n\n@metric('first weeks')\ndef first(texts):\n"
        "    return {text.id: 1.0 if text.id == 'd0' else None for text in texts}\n"
    )
    chosen = Evaluate(data=str(folder / "cases.jsonl"), metrics=["overlap"], own=[str(folder / "shown.py")])
    stage = MemoryStage(load_params(ROOT / "params.yaml"), folder)
    made = asyncio.run(evaluate_data(stage, chosen, read_data(chosen)))  # type: ignore[arg-type]
    unscored = made.tables["unscored"]
    assert made.problem is None, "no judge failed"
    assert len(unscored) == 18 and set(unscored["reason"]) == {"the metric gave no number"}
    rows = made.tables["metrics"].set_index(["system", "metric"])
    assert rows.loc[("one", "first weeks"), ["n", "unscored"]].tolist() == [1, 9]


def test_the_command_prints_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(folder))
    (folder / "cased.py").write_text(CASED)
    arguments = ["--metric", str(folder / "shown.py"), "--metrics", "overlap"]
    arguments += ["--metric", str(folder / "cased.py"), "--planted", "4"]
    assert run(["evaluate", str(folder / "cases.jsonl"), "--out", str(folder / "out"), *arguments]) == 0
    said = capsys.readouterr().out
    (line,) = [line for line in said.splitlines() if line.startswith("kept words")]
    assert re.search(r"1\.?0* .*n 10 +0\.2", line)
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "numbers kept: above known score 0 (" in said
    assert "simulator" not in said and "Dry run" not in page, "no judge was asked"


DOCUMENTS = [Document(id=f"d{n}", source=(f"text {n}",), outputs={"s": f"out {n}"}) for n in range(4)]


def scored(tmp_path: Path, body: str, *, ask: ScriptedAsk | None = None) -> pd.DataFrame:
    """Unscored rows of a metric with this body, which has one row of METRICS."""
    (tmp_path / "own.py").write_text("from vignette import metric\n\n" + body)
    asked = ask or ScriptedAsk(lambda _: "yes")
    metrics = load_metrics([tmp_path / "own.py"], taken=["bleu"])
    measure = Own(metrics, ["s"])
    found = asyncio.run(measure.judge(lambda _: asked, DOCUMENTS))
    (row,) = figures(found["verdicts"], measure.metrics, stage="own", seed=1, provenance="p").to_dict("records")
    assert row["unscored"] == len(found["unscored"]) and row["n"] + row["unscored"] == len(DOCUMENTS)
    return found["unscored"]


def test_documents_without_a_number_are_unscored_and_named(tmp_path: Path) -> None:
    body = (
        "@metric('m')\ndef m(texts):\n    return {'d0': True, 'd1': None, 'd2': __import__('numpy').float32('nan')}\n"
    )
    unscored = scored(tmp_path, body)
    assert unscored["record"].tolist() == ["d1", "d2", "d3"]
    assert set(unscored["reason"]) == {"the metric gave no number"} and set(unscored["step"]) == {"m of s"}


def test_a_metric_that_asks_is_answered_by_the_judge_and_a_failed_call_is_no_score(tmp_path: Path) -> None:
    def script(call: Call) -> str | Exception:
        return RuntimeError("HTTP 500") if "out 2" in call.messages[0].content else "Yes."

    (tmp_path / "asks.py").write_text(SHOWN[1])
    ask = ScriptedAsk(script)
    measure = Own(load_metrics([tmp_path / "asks.py"]), ["s"])
    found = asyncio.run(measure.judge(lambda _: ask, DOCUMENTS))
    assert found["verdicts"]["value"].fillna(-1).tolist() == [1, 1, -1, 1]
    assert found["unscored"]["record"].tolist() == ["d2"]
    assert len({call.key for call in ask.calls}) == 4


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("@metric\ndef m(t):\n    return {}\n", r'@metric above m has no name; write @metric\("m"\)'),
        ("x = 1\n", "no metric; expected a function decorated"),
        ("1 / 0\n", r"own\.py: line 3: cannot be run \(ZeroDivisionError"),
        ("@metric('m')\ndef m():\n    return {}\n", "m takes 0 parameters"),
        ("@metric('m')\ndef m(t):\n    return 1\n", "returned int; expected a dict"),
        ("@metric('m')\ndef m(t):\n    raise ValueError('no')\n", r"line 5: metric m failed .* s \(ValueError: no\)"),
        ("@metric('m')\ndef m(t):\n    return {'zz': 1}\n", "scored 'zz', which is no document of s"),
        ("@metric('m')\ndef m(t):\n    return {'d0': 'good'}\n", "document d0, s: found 'good', expected a number"),
        ("@metric('m')\ndef m(t):\n    return {'d0': float('inf')}\n", "found inf, expected a number"),
        ("@metric('m', bounds=(0, 1))\ndef m(t):\n    return {'d0': 2}\n", "found 2, expected a number from 0 to 1"),
        ("@metric('m')\ndef m(t):\n    return {}\n@metric('m')\ndef n(t):\n    return {}\n", "metric m is also in"),
        ("@metric('words_corrected')\ndef m(t):\n    return {}\n", "ends in _corrected, as figures made of a metric"),
        ("@metric('bleu')\ndef m(t):\n    return {}\n", "has the name of one that ships"),
        ("@metric('m')\ndef m(t):\n    return {'d0': 10**400}\n", "found 1000"),
        ("@metric('m')\ndef m(t):\n    return {'d0': '0.5'}\n", "found '0.5', expected a number"),
    ],
)
def test_a_defect_is_one_clear_line_that_names_the_file(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(SourceError, match=said) as raised:
        scored(tmp_path, body)
    assert str(raised.value).startswith(str(tmp_path / "own.py")) and "\n" not in str(raised.value)
