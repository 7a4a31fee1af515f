"""Evaluation of a user's own texts: from a data file to tables, comparisons, questions and the page."""

import asyncio
import hashlib
import io
import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.commands.parser import run
from flows.evaluation.api import evaluate as evaluate_rows
from flows.evaluation.folder import evaluation_files, page, write_evaluation
from flows.evaluation.forms import label_files
from flows.evaluation.judges import choose_role, chosen_models
from flows.evaluation.work import Evaluation, evaluate_data, read_data
from flows.repository.params import load_params
from flows.runtime.tables import check
from schemas.errors import ParamsError, SourceError
from schemas.params.measures import Evaluate
from schemas.tables.columns import typed
from schemas.tables.evaluate import table_schema
from schemas.tables.verdicts import VERDICTS
from tasks.judges.human_labels import label_rows, read_labels, sheet_of
from tasks.llm.calls import Answer, Call
from tasks.measures.described import METRICS
from tasks.measures.described import chosen as chosen_measures
from tasks.measures.evaluation import failed_share, plan_of
from tasks.texts.document import SOURCE, WHOLE
from tests.support.cases import each, from_table
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.scripted import DirectAsk

NOTES = (
    "The patient has had a dry cough for three weeks. She denies fever. The lungs are clear.",
    "He has a sore right knee after a fall. The knee is swollen. An x-ray is ordered.",
    "She has had a headache for two days. She takes ibuprofen. Her blood pressure is normal.",
)


def _rows(**changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"d{number}",
            "source": note,
            "reference": " ".join(note.split(". ")[:2]) if number else note,
            "outputs": {
                "copy": note,
                "cites": f"{note.split('. ')[0]} [0]. <script>alert(1)</script>",
                "short": "The family was present.",
            },
            **changes,
        }
        for number, note in enumerate(NOTES)
    ]


class Failing(DirectAsk):
    """The simulator, but for calls whose key contains one of ``parts``, which are refused."""

    parts: Sequence[str] = ()

    def _answer(self, call: Call) -> Answer:
        if any(part in call.key for part in self.parts):
            return Answer(call.key, failure="refused", raw="a raw reply")
        return super()._answer(call)


def _evaluated(folder: Path, rows: list[dict[str, Any]], *, failing: Sequence[str] = (), **settings: Any) -> Evaluation:
    """The evaluation of ``rows`` by the simulator, which refuses the calls with one of ``failing`` in their key."""
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    chosen = Evaluate(data=str(folder / "data.jsonl"), **settings)
    stage = MemoryStage(load_params(ROOT / "params.yaml"), folder)
    stage.judges = {role: Failing(f"vignette-{role}") for role in ("writer", "annotator", "answerer", "judge")}
    for ask in stage.judges.values():
        ask.parts = failing  # type: ignore[attr-defined]
    return asyncio.run(evaluate_data(stage, chosen, read_data(chosen)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return _evaluated(tmp_path_factory.mktemp("data"), _rows(), planted=2)


def test_overlap_is_left_out_where_no_document_has_a_reference(tmp_path: Path) -> None:
    rows = [{"id": "a", "source": NOTES[0], "output": NOTES[0]}]
    table = _evaluated(tmp_path, rows, metrics=["grounding", "overlap"]).tables["metrics"]
    assert "claims_supported" in set(table["metric"]) and not table["metric"].str.startswith("rouge").any()
    chosen = Evaluate(data=str(tmp_path / "data.jsonl"), metrics=["grounding", "overlap"])
    data = read_data(chosen)
    assert any("overlap is left out" in note for note in data.notes)
    assert plan_of(chosen, replace(data, notes=())).metrics == ("grounding",)
    referenced = [replace(document, reference=NOTES[0]) for document in data.documents]
    assert plan_of(chosen, replace(data, documents=referenced)).metrics == ("grounding", "overlap")


def test_all_methods_score_every_system_of_plain_notes(made: Evaluation) -> None:
    for stem, table in made.tables.items():
        check(table, table_schema(stem), stem)
    value = made.tables["metrics"].set_index(["system", "metric", "item"])["value"]
    for metric in ("claim_recall", "claims_supported"):
        assert (value["copy", metric, WHOLE], value["short", metric, WHOLE]) == (1, 0)
    assert 0 < value["cites", "citation_recall", WHOLE] < 1
    assert ("copy", "citation_recall", WHOLE) not in value.index  # it does not cite


def test_every_two_systems_are_compared_on_the_same_documents(made: Evaluation) -> None:
    found = made.tables["comparisons"].set_index(["system_a", "system_b", "metric"])
    row = found.loc[("copy", "short", "claim_recall")]
    assert (row["a"], row["b"], row["difference"], row["n"]) == (1, 0, -1, 3)
    assert not row["changed"]  # three documents are too few to test
    assert {(a, b) for a, b, _ in found.index} == {("copy", "cites"), ("copy", "short"), ("cites", "short")}


def test_the_judge_is_measured_on_errors_planted_into_the_references(made: Evaluation) -> None:
    planted = made.tables["planted"]
    assert planted["document"].nunique() == 2
    assert {True, False} == set(planted["truth"])
    rates = made.tables["judge"].set_index(["condition", "metric", "item"])["value"]
    assert 0.5 < rates["entailment", "sensitivity", "all"] <= 1, "a tenth of the sentences escapes the rules"


def test_only_cases_of_the_chosen_measures_are_planted(tmp_path: Path) -> None:
    found = _evaluated(tmp_path, _rows(), planted=2, metrics=["med_omit", "overlap"])
    assert set(found.tables["judge"]["condition"]) == {"omissions", "facts"}


def test_the_page_holds_all_texts_and_none_as_markup(made: Evaluation, tmp_path: Path) -> None:
    files = evaluation_files(made, {"models": {}}, "a <b> title")
    page = files["report.html"].decode()
    assert "<script>alert" not in page and "The judge on your own text" in page
    assert not re.search(r'(src|href)="(?!#)', page)
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [one["id"] for one in data["documents"]] == ["d0", "d1", "d2"]
    output = data["documents"][0]["outputs"]["1"]
    assert "".join(text for text, _ in output["text"]) == _rows()[0]["outputs"]["cites"]
    assert output["marks"] == [[0, 0, 1]]
    assert write_evaluation(tmp_path / "out", files) is None
    one, other = (
        {"manifest.json": json.dumps({"evaluation": {"data": data, "metrics": ["qa"]}, "data_sha256": data}).encode()}
        for data in ("a.csv", "b.csv")
    )
    assert write_evaluation(tmp_path / "out", one) is None
    assert write_evaluation(tmp_path / "out", other) == "a.csv by qa", "whose evaluation is replaced is said"
    assert write_evaluation(tmp_path / "out", other) is None


def test_labels_of_some_verdicts_estimate_the_true_share(made: Evaluation, tmp_path: Path) -> None:
    files = label_files(made, seed=7)
    assert sorted(files) == [
        *(f"labels/{metric}_{n}.csv" for metric in ("claim_precision", "claim_recall") for n in (1, 2, 3)),
        "labels/verdicts.csv",
    ]
    sheet = pd.read_csv(io.BytesIO(files["labels/claim_recall_2.csv"]), dtype="str", keep_default_na=False)
    judged = made.tables["claims"].query("system == 'cites' and metric == 'claim_recall'")
    assert len(sheet) == len(judged)
    outputs = {document.id: document.outputs["cites"] for document in made.documents}
    assert sheet["text"].tolist() == [outputs[document] for document in sheet["cluster"]]
    assert list(sheet) == ["item", "label", "cluster", "claim", "text"], "people do not see the verdicts"
    sheet.loc[:3, "label"] = "1"
    sheet.to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(ValueError, match=r"judged missing.*beside verdicts\.csv"):
        read_labels(tmp_path / "mine.csv")
    (tmp_path / "verdicts.csv").write_bytes(files["labels/verdicts.csv"])
    found = read_labels(tmp_path / "mine.csv")
    assert sheet_of(tmp_path / "mine.csv") == ("claim_recall", "cites")
    rows = label_rows(found, system="mine", seed=7, provenance="p").set_index("metric")
    assert rows.loc["labelled_share", ["value", "n"]].tolist() == [1, 4]
    by_claim = dict(zip(sheet["item"], sheet["cluster"] + sheet["claim"], strict=True))
    expected = judged.set_index(judged["document"] + judged["text"])["value"].to_dict()
    assert dict(zip(found["unit"].map(by_claim), found["value"], strict=True)) == expected
    sheet.assign(judged="1").to_csv(tmp_path / "mine.csv", index=False)
    assert (read_labels(tmp_path / "mine.csv")["value"] == 1).all(), "a sheet of the former layout has its own verdicts"
    both = pd.concat([sheet, pd.read_csv(io.BytesIO(files["labels/claim_precision_1.csv"]), dtype="str")])
    both.to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(SourceError, match=r"claim_precision of system .* and claim_recall of system cites"):
        read_labels(tmp_path / "mine.csv")
    sheet.assign(item="d0/all/C9").to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(SourceError, match=r"'d0/all/C9' is not in .*verdicts\.csv"):
        read_labels(tmp_path / "mine.csv")


@each("text", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_a_spreadsheet_takes_no_text_for_a_formula(made: Evaluation, text: str) -> None:
    documents = [document.with_outputs({"cites": text}) for document in made.documents]
    sheet = pd.read_csv(
        io.BytesIO(label_files(replace(made, documents=documents), seed=7)["labels/claim_recall_2.csv"])
    )
    assert set(sheet["text"]) == {f"'{text}"}


@pytest.mark.parametrize("sections", ["given", "headings"])
def test_sections_are_found_in_the_headings_that_models_write(tmp_path: Path, sections: str) -> None:
    rows = [
        {
            "id": "1",
            "source": NOTES[0],
            "reference": "History: dry cough\nPlan:\nRest and fluids."
            if sections == "given"
            else "## Plan\nRest and fluids.",
            "outputs": {
                "s": "**History**\nA dry cough.\n\n**Plan:** Rest and fluids.",
                "t": "PLAN\n- Rest and fluids.",
            },
            "sections": ["History", "Plan"],
        }
    ]
    found = _evaluated(tmp_path, rows, metrics=["doclens", "overlap"], sections=sections)
    plan = "Plan" if sections == "given" else "plan"
    value = found.tables["metrics"].set_index(["system", "metric", "item"])["value"]
    assert value["s", "claim_recall", plan] == value["t", "claim_recall", plan] == 1
    assert value["s", "rouge1_f", plan] == 1


DIALOGUES = (
    "Doctor: What brings you in?\nPatient: A dry cough. I take ibuprofen.\nDoctor: Any fever?\nPatient: No fever.",
    "Doctor: How are you?\nPatient: I have asthma, and a headache since Monday.\nDoctor: Chest pain?\nPatient: No.",
)
OWN = [{"question": "Which drug does the patient take?", "answer": "Ibuprofen"}]


def _asked() -> list[dict[str, Any]]:
    rows = [
        {"id": f"d{n}", "source": source, "outputs": {"copy": source, "weather": "It was a sunny day."}}
        for n, source in enumerate(DIALOGUES)
    ]
    rows[0]["questions"] = OWN
    return rows


def test_questions_are_answered_from_each_output_and_compared(tmp_path: Path) -> None:
    found = _evaluated(tmp_path, _asked(), metrics=["qa"])
    value = found.tables["metrics"].set_index(["system", "metric"])["value"]
    assert value["copy", "qa_free_text"] == value[SOURCE, "qa_free_text"] > 0
    assert value["weather", "qa_free_text"] == 0
    answers = found.tables["answers"].set_index(["document", "system", "metric"])
    asked = found.tables["questions"].set_index("question")
    assert asked.loc[answers.loc[("d0", "copy", "qa_free_text"), "unit"], "wording"] == OWN[0]["question"]
    assert ("d0", "copy", "qa_multiple_choice") not in answers.index  # the own question comes without choices
    assert ("d1", "copy", "qa_multiple_choice") in answers.index
    pairs = found.tables["comparisons"].set_index(["system_a", "system_b", "metric"])
    assert pairs.loc[("copy", "weather", "qa_free_text"), "difference"] == -value["copy", "qa_free_text"]
    assert SOURCE not in {name for pair in pairs.index for name in pair[:2]}
    shown = json.loads(page(found, "t", {}).split('id="data">')[1].split("</script>")[0])
    (panel,) = shown["panels"]
    units = [(unit[0], unit[2]) for unit in shown["documents"][0]["units"][0]]
    assert panel["kind"] == "question" and units == [(0, 1), (1, 0)]


def test_unanswered_and_ungenerated_questions_are_counted(tmp_path: Path) -> None:
    found = _evaluated(tmp_path, _asked(), failing=["free_text/weather", "d1/generated/1/choices"], metrics=["qa"])
    rows = found.tables["metrics"].set_index(["system", "metric"])
    assert rows.loc[("weather", "qa_free_text"), ["n", "unscored"]].tolist() == [0, 2]
    assert rows.loc[("copy", "qa_free_text"), ["n", "unscored"]].tolist() == [1, 1]
    assert set(found.tables["unscored"]["reason"]) == {"refused"}
    steps = found.tables["unscored"][["document", "system", "step"]].fillna("all").to_numpy().tolist()
    assert ["d0", "weather", "answer/free_text"] in steps and ["d1", "all", "note_qa/generate"] in steps


@pytest.mark.parametrize("failing", ["", "/judge/"])
def test_calls_that_fail_are_listed_under_the_names_of_the_data_whatever_marks_these_hold(
    tmp_path: Path, failing: str
) -> None:
    name = "org/model, v1: a/b"
    texts = {"source": DIALOGUES[0], "reference": NOTES[0], "outputs": {name: DIALOGUES[0]}}
    rows, metrics = [{"id": "d/1", **texts, "questions": OWN}], ["doclens", "grounding", "med_omit", "qa"]
    unscored = _evaluated(tmp_path, rows, failing=[failing], metrics=metrics).tables["unscored"]
    systems = unscored.dropna(subset="system").groupby("method")["system"].agg(set)
    assert set(unscored["document"]) == {"d/1"} and "note_qa" in systems
    assert all(own <= {name, SOURCE} and name in own for own in systems), systems


def test_outputs_that_could_not_be_written_are_unscored(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"metrics": ["doclens", "grounding"], "write": [0], "write_by": ["whole", "section"]}
    found = _evaluated(tmp_path, _asked(), failing=["d0/cited_note"], **settings)
    whole, parts = "writer, 0 examples", "writer by section, 0 examples"
    assert found.systems == ["copy", "weather", whole, parts]
    rows = found.tables["metrics"].set_index(["system", "metric", "item"])
    for system in (whole, parts):
        assert rows.loc[(system, "citation_recall", "all"), "unscored"] >= 1
        assert rows.loc[(system, "claims_supported", "all"), ["n", "unscored"]].tolist() == [1, 1]
    unscored = found.tables["unscored"].query("method == 'writing'")
    assert set(unscored["document"]) == {"d0"} and set(unscored["system"]) == {whole, parts}
    assert rows.loc[("copy", "claims_supported", "all"), ["n", "unscored"]].tolist() == [2, 0]
    pairs = found.tables["comparisons"].set_index(["system_a", "system_b", "metric"])
    assert pairs.loc[("copy", whole, "claims_supported"), ["failed_a", "failed_b"]].tolist() == [0, 1]


def test_a_judge_that_fails_on_some_texts_is_measured_by_these_however_many_claims_the_others_have(
    tmp_path: Path,
) -> None:
    """A third of the scores, though less of the claims; and where one claim of a text fails, its part of the score."""
    rows = [{**row, "outputs": {"copy": row["source"]}} for row in _rows()]
    made = _evaluated(tmp_path, rows, failing=["d2"], metrics=["doclens"])
    assert made.problem is not None and made.problem.startswith("33.3% of 6 scores by a model failed (of a text")
    claims = pd.DataFrame({"document": ["a"] * 20 + ["b"], "system": "s", "value": [None, *[1.0] * 20]})
    claims = typed(claims.assign(condition="c", item="all", metric="m", unit=[*map(str, range(21))], text="", judge="j",
                                 verdict=None, weight=1.0, truth=None, kind=None, reason=None), VERDICTS)  # fmt: skip
    failed = pd.DataFrame({"document": ["a"], "system": ["s"], "method": ["doclens"]})
    assert failed_share({"doclens": claims}, failed) == (pytest.approx((1 / 20 + 0) / 2), 2)
    assert failed_share({"doclens": claims}, failed.head(0)) == (0, 2), "what the data lacks is no failure"
    other = failed.assign(method="qa")
    assert failed_share({"doclens": claims}, other) == (pytest.approx((0 + 0 + 1) / 3), 3), (
        "it has no row in the tables"
    )
    assert failed_share({}, other) == (1, 1) and failed_share({}, other.head(0)) == (0, 0)
    whole = claims.assign(value=claims["value"].where(claims["document"] != "a"))
    for row in ({"method": "writing"}, {"system": None}):
        assert failed_share({"doclens": whole}, failed.assign(**row)) == (pytest.approx((1 + 0) / 2), 2), row


def test_a_judge_of_whom_nothing_is_understood_is_said_on_the_page_and_gives_no_figure(tmp_path: Path) -> None:
    rows = [{**row, "outputs": {"short": "The family was present."}} for row in _rows()]
    made = _evaluated(tmp_path, rows, failing=[""], metrics=["doclens", "grounding", "overlap"])
    assert made.problem is not None and made.problem.startswith("100% of 9 scores by a model failed")
    assert "Does this model follow instructions" in made.problem
    page = evaluation_files(made, {"models": {}}, "t")["report.html"].decode()
    assert "Do not use these judgements." in page
    metrics = made.tables["metrics"].query("stage != 'overlap'")
    assert len(metrics) and metrics.query("metric.str.endswith('_bounds') == False")["value"].isna().all()


def test_every_figure_of_a_system_counts_its_missing_output(tmp_path: Path) -> None:
    rows = _rows()
    rows[1]["outputs"]["cites"] = None
    metrics = _evaluated(tmp_path, rows).tables["metrics"]
    of_cites = metrics[metrics["system"].eq("cites") & metrics["item"].ne("history")]
    assert {one.name for one in chosen_measures(None)} <= {*of_cites["stage"]} | {"note_qa"}
    units = of_cites["metric"].isin([name for name, metric in METRICS.items() if metric.kind == "pooled"])
    other = units | of_cites["metric"].str.contains("pooled|_bounds")  # n are units or all documents
    assert of_cites.loc[~units, "unscored"].eq(1).all() and (of_cites["n"] + of_cites["unscored"])[~other].eq(3).all()
    over = metrics[metrics["condition"].eq("agreement of metrics")].drop_duplicates("system").set_index("system")
    assert over.loc["notes", ["n", "unscored"]].tolist() == [8, 1]
    assert over.loc["systems", ["n", "unscored"]].tolist() == [3, 0]


@pytest.mark.parametrize("name", ["notes", "systems", "judge", "all"])
def test_a_system_cannot_have_the_name_of_other_rows(tmp_path: Path, name: str) -> None:
    rows = [{"id": "1", "source": "A cough.", "outputs": {name: "A cough."}}]
    with pytest.raises(SourceError, match=f"data.jsonl: system {name}: .*name it otherwise"):
        _evaluated(tmp_path, rows, metrics=["doclens"])


@from_table
def test_a_wrong_command_is_one_line_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    (tmp_path / "d.jsonl").write_text('{"id": 1, "source": "x", "output": "y"}')
    (tmp_path / "none.jsonl").write_text('{"id": 1, "source": "x"}')
    many = {"id": 1, "source": "x", "reference": "x", "outputs": {f"s{n}": "x" for n in range(2000)}}
    (tmp_path / "many.jsonl").write_text(json.dumps(many))
    monkeypatch.setenv("DVC_ROOT", str(ROOT))
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert run(["evaluate", "--out", "out", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("evaluate: ")
    assert said in line and ("did you mean" in line) == ("did you mean" in said)
    assert sorted(tmp_path.iterdir()) == before


def test_a_judge_is_named_by_model_and_address_and_may_do_what_writer_and_answerer_do() -> None:
    params = load_params(ROOT / "params.yaml")
    role = choose_role("org/model@v2@http://127.0.0.1:8000/v1", "judge", params)
    assert (role.model, role.base_url) == ("org/model@v2", "http://127.0.0.1:8000/v1")
    assert choose_role("judge", "judge", params) == params.roles["judge"]
    for judge in ("simulator", "m@http://127.0.0.1:8000/v1"):
        assert set(chosen_models(judge, None, None).values()) == {judge}, "it does all"
        assert chosen_models(judge, "w", "a") == {"judge": judge, "annotator": judge, "writer": "w", "answerer": "a"}
    own = chosen_models("judge", None, None)
    assert list(own) == list(own.values()) == ["judge", "writer", "annotator", "answerer"]
    with pytest.raises(ParamsError):
        choose_role("model@ftp://x", "judge", params)


def test_the_python_function_works_where_an_event_loop_runs(tmp_path: Path) -> None:
    params = load_params(ROOT / "params.yaml")
    stored = params.runtime.model_copy(update={"store": str(tmp_path / "responses.sqlite")})

    async def notebook() -> Any:
        rows = [{**row, "outputs": {"copy": row["source"]}} for row in _rows()]
        frame = pd.DataFrame(rows).rename(columns={"reference": "gold"})
        kept = params.model_copy(update={"runtime": stored})
        return evaluate_rows(frame, metrics=["doclens"], judge="simulator", map={"reference": "gold"}, params=kept)

    result = asyncio.run(notebook())
    assert result.grounded.empty
    found = result.metrics.set_index(["system", "metric"])["value"]
    assert found["copy", "claim_recall"] == 1
    folder = result.save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["models"]["judge"]["identity"]["endpoint"] == "simulator"
    others = {"manifest.json", ".vignette-export.json"}
    assert set(manifest["written"]) == {str(f.relative_to(folder)) for f in folder.rglob("*.*")} - others


def test_overlap_alone_starts_no_judge_and_does_not_speak_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(tmp_path))
    (data := tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, _rows())))
    asked = ["evaluate", str(data), "--metrics", "overlap", "--out", str(tmp_path / "out")]
    assert run(asked) == 0 and run([*asked, "--dry-run"]) == 0
    said = capsys.readouterr()
    written = said.out + (tmp_path / "out" / "tables" / "metrics.csv").read_text()
    assert "replaced" not in said.err and "ROUGE-1" in written and "judge" not in written and "simulator" not in written
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["models"] == {}
    assert not list(tmp_path.glob("responses.sqlite"))
    (other := tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, _rows()[:2])))
    assert run([asked[0], str(other), *asked[2:]]) == 0
    assert f"out: replaced the evaluation of {data} by overlap; --out names another folder" in capsys.readouterr().err


OVERWRITES = """
import pathlib
from vignette import metric

@metric("zero")
def zero(texts):
    pathlib.Path({data!r}).unlink(missing_ok=True)
    return dict.fromkeys((text.id for text in texts), 0)
"""


def test_files_whose_names_are_not_utf8_are_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(tmp_path))
    data = tmp_path / os.fsdecode(b"donn\xe9es.jsonl")
    data.write_text("\n".join(map(json.dumps, _rows())))
    assert run(["evaluate", str(data), "--metrics", "overlap", "--out", str(tmp_path / "out")]) == 0
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["files"] == {str(data): digest}
    assert "donn\\udce9es.jsonl" in (tmp_path / "out" / "report.html").read_text()


def test_the_manifest_has_the_hash_of_the_data_as_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(tmp_path))
    (data := tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, _rows())))
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    (own := tmp_path / "own.py").write_text(OVERWRITES.format(data=str(data)))
    asked = ["evaluate", str(data), "--metrics", "overlap", "--metric", str(own), "--out", str(tmp_path / "out")]
    assert run(asked) == 0 and not data.exists()
    files = json.loads((tmp_path / "out" / "manifest.json").read_text())["files"]
    assert files == {str(data): digest, str(own): hashlib.sha256(own.read_bytes()).hexdigest()}
