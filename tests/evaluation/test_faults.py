"""What users give to commands and functions: settings, data that lacks something, an import beside the clone."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
import yaml

from flows.commands.parser import run
from flows.evaluation.api import evaluate
from flows.evaluation.judges import choose_role, given_name, judges_of, name_judges, with_judges
from flows.repository.params import load_params
from flows.repository.workspace import params_file
from schemas.errors import ParamsError, SourceError
from schemas.params.llm import Role, Sending, key_variable
from tasks.audit.card import CHANGE_NAMES, FIRST
from tasks.audit.cases import FACTORS
from tasks.llm.replies import SendFailure
from tasks.measures.doclens.citations import read_statements, without_citations
from tasks.measures.doclens.judging import cites
from tasks.tracking.comparison import UNTESTED, compare_systems
from tasks.transport.endpoint import setting_at_fault
from tests.support.cases import each, from_table
from tests.support.imports import ROOT
from tests.support.params import shipped

MODEL = "gpt-5@https://api.openai.com/v1"


@from_table
def test_a_bracket_cites_where_all_its_numbers_are_units(output: str, citations: list[int], without: str) -> None:
    assert [number for one in read_statements(output, 6) for number in one.citations] == citations
    assert without_citations(output, 6) == without
    assert cites(output, 6) == bool(citations)


@from_table
def test_settings_of_a_model_on_the_command_line(settings: str, said: str | None) -> None:
    if said is not None:
        with pytest.raises(ParamsError, match=said):
            choose_role(f"{MODEL}#{settings}", "judge", shipped())
        return
    role = choose_role(f"{MODEL}#{settings}", "judge", shipped())
    assert role == Role(
        base_url="https://api.openai.com/v1", model="gpt-5", temperature=None, send_seed=False, aliases=["gpt-5-0807"]
    )


def test_the_key_and_the_pace_of_a_model_are_its_own_where_they_follow_its_address() -> None:
    keyed = f"{MODEL}#api_key_env=MY_KEY&rpm=60"
    params, every = with_judges(shipped(), [keyed, "b=c@http://127.0.0.1:9/v1"], None, None)
    assert key_variable(params.roles["judge"], params.runtime.sending["judge"]) == "MY_KEY"
    assert [one.runtime.sending.get("judge", Sending()).rpm for one in every.values()] == [60, None]
    assert every["b"].runtime.sending.get("judge", Sending()).api_key_env is None
    with pytest.raises(ParamsError, match=r"gpt-5@https://api\.openai\.com/v1: rpm: expected"):
        with_judges(shipped(), [f"{MODEL}#rpm=0"], None, None)


@each("param", ["temperature", "seed", "max_tokens"])
def test_the_advice_of_a_rejection_works_on_the_command_line(param: str) -> None:
    role = choose_role(MODEL, "judge", shipped())
    advice = setting_at_fault(SendFailure("rejected", "HTTP 400: no", status=400, param=param), role) or ""
    settings = advice.rpartition("MODEL@URL#")[2].rstrip(")")
    assert choose_role(f"{MODEL}#{settings}", "judge", shipped()) != role


KEYED = "gpt-5@https://host/v1?api-key=secret"


@each(
    "judges",
    [
        ["gpt-5@https://user:secret@host/v1"], [f"{KEYED}#temprature=0"], [f"{KEYED}#headers=[secret"], [f"={KEYED}"],
        [f"{KEYED}#api_key_env=NO&temprature=0"],
        [f"a=b={KEYED}"], [f"a={KEYED}", f"a=other@{KEYED}"], [KEYED, f"b={KEYED}"],
    ],
)  # fmt: skip
def test_an_address_that_is_refused_is_shown_without_its_key(judges: list[str]) -> None:
    with pytest.raises(ParamsError, match=r"https://host/v1|an invalid address") as error:
        name_judges(shipped(), judges)
    assert "secret" not in str(error.value)


@each(
    "judge", ["m\nx@http://h/v1", "m@http://h:99999/v1?key=secret", "m@http://[::1/v1?key=secret", "m@http://h/\x1b"]
)  # fmt: skip
def test_what_no_address_can_be_is_refused_before_anything_is_sent(tmp_path: Path, judge: str) -> None:
    with pytest.raises(ParamsError, match="expected") as error:
        choose_role(judge, "judge", shipped())
    model, _, url = judge.partition("@")
    edited = yaml.safe_load(params_file().read_text())
    edited["roles"]["judge"] |= {"base_url": url, "model": model}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(edited))
    with pytest.raises(ParamsError, match=r"roles\.judge\.(base_url|model) is") as in_file:
        load_params(tmp_path / "params.yaml")
    assert "secret" not in f"{error.value} {in_file.value}"


def test_a_judge_has_the_name_that_it_is_given_in_an_audit_too() -> None:
    (params,) = judges_of(shipped(), [f"mine={MODEL}"])
    assert params.roles["judge"].model == "gpt-5" and params.roles["annotator"].model == "gpt-5"
    assert given_name(f"mine={MODEL}") == "mine" and given_name(f"{MODEL}#temperature=null") is None
    with pytest.raises(ParamsError, match="the same model as") as error:
        judges_of(shipped(), [f"mine={KEYED}", KEYED])
    assert "secret" not in str(error.value)


ROWS = [{"id": f"d{n}", "source": "Dry cough. No fever.", "outputs": {"A": "Dry cough."}} for n in range(3)]


@each(
    "metrics, said",
    [
        (["doclens"], "doclens needs references: no document has a reference; name"),
        (["overlap"], "overlap needs references: no document has a reference"),
        (["doclens", "overlap"], "doclens and overlap need references"),
    ],
)
def test_metrics_that_the_data_does_not_allow_are_an_error(metrics: list, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        evaluate(ROWS, metrics=metrics, judge="simulator")


@pytest.mark.parametrize("data", [["a.csv"], {"id": "1", "source": "x"}, "a.csv"])
def test_what_is_no_table_of_documents_is_refused_with_what_is_read(data: list | dict | str) -> None:
    with pytest.raises(SourceError, match=r"expected a DataFrame or a list of dictionaries; a file is read by load_no"):
        evaluate(data, metrics="overlap")


def test_citations_are_judged_without_references() -> None:
    rows = [{**row, "outputs": {"A": "Dry cough [0]."}} for row in ROWS]
    found = evaluate(rows, metrics=["doclens", "overlap"], judge="simulator").metrics
    assert set(found["metric"]) >= {"citation_recall", "citation_precision"}
    assert not {"claim_recall", "rouge1_f"} & set(found["metric"])


def test_documents_without_sections_are_scored_whole_beside_divided_ones() -> None:
    row = {"source": "x", "reference": "PLAN\nTea.", "outputs": {"A": "PLAN\nTea.", "B": math.nan}}
    rows = [{**row, "id": "1", "sections": ["PLAN"]}, {**row, "id": "2"}]
    found = evaluate(pd.DataFrame(rows).set_index("id"), metrics="overlap").scores
    items = found[found["metric"] == "rouge1_f"].groupby("document")["item"].agg(set)
    assert items.to_dict() == {"1": {"all", "PLAN"}, "2": {"all"}}


def scores(failing: int) -> pd.DataFrame:
    """Scores of two systems on nine documents by seven metrics; the second lacks ``failing`` documents."""
    metrics = {"claim_recall": "doclens", **dict.fromkeys([*UNTESTED, "rougeLsum_f", "words"], "overlap")}
    rows = [
        {"stage": stage, "condition": "", "item": "all", "metric": metric, "system": system, "record": n,
         "document": f"d{n}", "value": 0.1 * (system == "b") + 0.01 * n}
        for metric, stage in metrics.items() for system in "ab" for n in range(9)
        if system == "a" or n >= failing
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_a_missing_output_has_one_row_and_alike_overlap_metrics_one_test() -> None:
    frame, none = scores(1), pd.DataFrame(columns=["system", "stage", "condition", "item", "metric", "unscored"])
    found = compare_systems(frame, {"b": pd.Series([0]).to_numpy()}, none, ["a", "b"], seed=1)
    failing = found[found["metric"].str.startswith("unscored")]
    assert failing["metric"].tolist() == ["unscored outputs"] and failing["n"].tolist() == [9]
    tested = set(found.loc[found["p"].notna(), "metric"]) - {"unscored outputs"}
    assert tested == {"claim_recall", "rougeLsum_f", "words"}
    assert found.loc[found["metric"].isin(UNTESTED), "difference"].notna().all(), "none is lost"


def test_a_difference_of_large_scores_is_not_rounded() -> None:
    none = pd.DataFrame(columns=["system", "stage", "condition", "item", "metric", "unscored"])
    large = scores(0).assign(value=lambda rows: 1.7e9 + rows["value"])
    found = compare_systems(large, {}, none, ["a", "b"], seed=1, own={"words": None})
    assert found.set_index("metric").loc["words", "difference"] == pytest.approx(0.1, abs=1e-6)


def test_a_clone_called_vignette_hides_no_module(tmp_path: Path) -> None:
    """An editable install, imported from the folder in which the clone is."""
    clone, wheels, site = tmp_path / "vignette", tmp_path / "wheels", tmp_path / "site"
    for name in ("pyproject.toml", "vignette.py", "README.md", "LICENSE", "params.yaml", "CITATION.cff"):
        clone.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, clone / name)
    for package in ("flows", "tasks", "schemas"):
        (clone / package).mkdir()
        (clone / package / "__init__.py").touch()
    wheels.mkdir()
    build = f"from setuptools import build_meta; build_meta.build_editable({str(wheels)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=clone, check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    shutil.unpack_archive(wheel, site, "zip")
    shutil.rmtree(clone / "build", ignore_errors=True)
    code = f"import site; site.addsitedir({str(site)!r})\nfrom importlib.util import find_spec\n"
    code += "print(find_spec('vignette').origin)"
    found = subprocess.check_output([sys.executable, "-ES", "-c", code], cwd=tmp_path, text=True)  # no other install
    assert Path(found.strip()) == clone / "vignette.py"


@each(
    "options, said",
    [
        (["--metrics", "rouge"], "; rouge is among the metrics of overlap"),
        (["--metrics", "bertscore"], "; bertscore is among the metrics of overlap"),
        (["--metrics", "doclense"], "; did you mean doclens?"),
        (["--writer", f"mine={MODEL}"], f"writer mine={MODEL}: only judges have a name, NAME=JUDGE; expected {MODEL}"),
        (["--answerer", "mine=simulator"], "only judges have a name, NAME=JUDGE; expected simulator"),
        (["--metrics", "doclens,grounding", "--labels", "--dry-run"], "and references to the data"),
    ],
)
def test_an_option_that_cannot_be_meant_says_what_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    out = str(tmp_path / "out")
    assert run(["evaluate", str(tmp_path / "d.jsonl"), "--judge", "simulator", *options, "--out", out]) == 1
    assert said in capsys.readouterr().err


def test_changes_of_a_card_are_required_by_the_names_that_its_page_has() -> None:
    shown = [f"claims: {factor}" for factor in (*FACTORS, "earlier in the call")] + ["error version: " + FIRST]
    assert {name.partition(": ")[2].replace(" ", "_") for name in shown} <= set(CHANGE_NAMES)


SHEETS = [
    ["agreement", "--human", "score"],
    ["plan", "--documents", "10"],
    ["audit", "simulator", "--dry-run", "--cases", "1", "--tasks", "claims", "--texts"],
]


@each("options", SHEETS)
def test_commands_name_the_sheets_that_they_do_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    book, source = openpyxl.Workbook(), "She has had a dry cough since Monday. She has no fever."
    for row in [["id", "source", "score", "words"], *([f"d{n}", f"{source} {n}", n % 5, n % 3] for n in range(12))]:
        book.active.append(row)
    book.create_sheet("more")["A1"] = "x"
    book.save(file := tmp_path / "d.xlsx")
    place = 1 if options[0] == "agreement" else len(options)
    assert run([*options[:place], str(file), *options[place:]]) == 0
    said = capsys.readouterr()
    assert f"{file}: not read: sheets more; only Sheet is" in said.out + said.err


def test_one_metric_may_be_named_alone_and_what_is_assumed_is_a_warning_of_the_caller_s_line() -> None:
    row = {"source": "A cough since Monday.", "reference": "Has a cough.", "output": "A cough."}
    with pytest.warns(UserWarning, match="no column id; documents are numbered") as caught:
        assert "rouge1_f" in set(evaluate([row], metrics="overlap").metrics["metric"])
    assert {one.filename for one in caught} == {__file__}
