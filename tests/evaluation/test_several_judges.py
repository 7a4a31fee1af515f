"""Several judges of one evaluation: the same claims, a row by judge, kappa, failures by judge, names and cost."""

import asyncio
import json
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.commands.parser import run
from flows.evaluation.api import evaluate
from flows.evaluation.folder import page
from flows.evaluation.several_judges import judge_by_each, share_lists
from flows.evaluation.work import Evaluation, read_data
from flows.runtime.tables import check
from schemas.errors import ParamsError
from schemas.params.measures import Evaluate
from schemas.tables.evaluate import table_schema
from tasks.llm.calls import Answer, Ask, Call
from tasks.measures.doclens.evaluators import ExplainedVerdicts
from tasks.measures.grounding.grounding import GroundedClaims
from tasks.reporting.evaluation_text import figures_and_pairs, judges_text, reading_line
from tasks.statistics.agreement import cohen_kappa
from tasks.statistics.paired_verdicts import UNIT
from tests.evaluation.test_evaluation import NOTES as TEXTS
from tests.support.memory_stage import MemoryStage
from tests.support.params import shipped
from tests.support.scripted import DirectAsk

METRICS = ["doclens", "grounding"]


class Judge(DirectAsk):
    """The simulator's judge, which errs on the calls about some documents, fails on others, or says yes of a system."""

    def __init__(
        self, name: str, *, errs: Collection[str] = (), fails: Collection[str] = (), favours: str | None = None
    ) -> None:
        super().__init__("vignette-judge")
        self.label, self.errs, self.fails, self.favours = name, errs, fails, favours

    def _answer(self, call: Call) -> Answer:
        document, system = call.key.split("/")[0], call.key.split("/")[1]
        answer = super()._answer(call)
        if _lists(call):
            return answer
        if document in self.fails:
            return Answer(call.key, failure="no reply", raw="?")
        if document in self.errs or system == self.favours:
            return Answer(call.key, text="", value=_turned(answer.value, yes=system == self.favours))
        return answer


def _lists(call: Call) -> bool:
    return call.reply is not None and call.reply.lists


def _turned(value: Any, *, yes: bool) -> Any:
    """A reply with every verdict turned, or each a yes."""
    if isinstance(value, ExplainedVerdicts):
        verdicts = [one.model_copy(update={"entailed": 1 if yes else 1 - one.entailed}) for one in value.verdicts]
        return value.model_copy(update={"verdicts": verdicts})
    if isinstance(value, GroundedClaims):
        turn = {"supported": "absent", "absent": "supported", "contradicted": "supported"}
        return GroundedClaims(
            verdicts=[one.model_copy(update={"verdict": turn[one.verdict]}) for one in value.verdicts]
        )
    return value


class Run(MemoryStage):
    """In the place of `flows.evaluation.models.CommandRun`, with one client for the judge."""

    def __init__(self, judge: Ask, folder: Path) -> None:
        super().__init__(shipped(runtime={"chunk_rows": 2}), folder)
        self.judges = {"judge": judge}
        self.wrap: Callable[..., Ask] = lambda role, client: client(role)

    def ask(self, role: str) -> Ask:
        return self.wrap(role, super().ask)


def evaluated(folder: Path, *judges: Judge, **settings: Any) -> Evaluation:
    """Three documents with three outputs, evaluated by judges with the names of their labels."""
    outputs = [{"copy": text, "short": "The family was present.", "part": text.split(". ")[0] + "."} for text in TEXTS]
    rows = [
        {"id": f"d{at}", "source": text, "reference": text, "outputs": said}
        for at, (text, said) in enumerate(zip(TEXTS, outputs, strict=True))
    ]
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    chosen = Evaluate(data=str(folder / "data.jsonl"), **{"metrics": METRICS, **settings})
    runs: Any = {one.label: Run(one, folder) for one in judges}
    share_lists(list(runs.values()))
    return asyncio.run(judge_by_each(runs, chosen, read_data(chosen)))


def figures(evaluation: Evaluation, judge: str) -> pd.DataFrame:
    rows, _ = figures_and_pairs(evaluation.tables["judges"])
    return rows[rows["condition"] == judge].set_index(["stage", "system", "item", "metric"]).sort_index()


@pytest.fixture(scope="module")
def erring(tmp_path_factory: pytest.TempPathFactory) -> tuple[Evaluation, list[Judge]]:
    """Three judges, each of which errs on another document, and so has a document to itself."""
    judges = [Judge(name, errs=[f"d{at}"]) for at, name in enumerate(("a", "b", "c"))]
    return evaluated(tmp_path_factory.mktemp("erring"), *judges, planted=2), judges


def test_the_first_judge_has_the_figures_of_an_evaluation_by_it_alone(erring: tuple[Evaluation, list[Judge]]) -> None:
    alone = erring[0].tables["metrics"].set_index(["stage", "system", "item", "metric"])["value"]
    found = figures(erring[0], "a")["value"]
    assert len(found) > 20
    pd.testing.assert_series_equal(found, alone.loc[found.index].sort_index())


def test_claims_are_listed_once_and_are_the_same_for_all(erring: tuple[Evaluation, list[Judge]]) -> None:
    evaluation, judges = erring
    listed = [[call for call in judge.calls if _lists(call)] for judge in judges]
    assert listed[0] and len(listed[0]) == len(set(listed[0])) and listed[1] == listed[2] == []
    verdicts = evaluation.tables["verdicts"]
    texts = [rows[[*UNIT, "text"]].reset_index(drop=True) for _, rows in verdicts.groupby("judge")]
    pd.testing.assert_frame_equal(texts[0], texts[1])
    assert {"claim_recall", "claims_supported"} <= set(verdicts["metric"])


def test_a_judge_that_fails_a_call_is_unscored_and_never_better(tmp_path: Path) -> None:
    found = evaluated(tmp_path, Judge("a"), Judge("b", fails=["d1"]), metrics=["doclens"])
    whole, failed = figures(found, "a"), figures(found, "b")
    key = ("doclens", "short", "all", "claim_recall")
    assert (failed.loc[key, "n"], failed.loc[key, "unscored"]) == (2, 1) and whole.loc[key, "n"] == 3
    bounds = failed.loc[(*key[:3], "claim_recall_bounds")]
    assert bounds["low"] <= whole.loc[key, "value"] <= bounds["high"] and bounds["high"] > bounds["low"]
    verdicts = found.tables["verdicts"]
    own = verdicts[(verdicts["judge"] == "b") & (verdicts["document"] == "d1")]
    assert len(own) and own["value"].isna().all()
    assert verdicts.loc[verdicts["judge"] == "a", "value"].notna().all()
    steps = found.tables["unscored"]["step"]
    assert len(steps) and steps.str.endswith(", judge b").all()
    assert found.problem is not None and found.problem.startswith("judge b: ") and "judge a" not in found.problem


def test_every_two_judges_have_a_kappa_of_each_metric(erring: tuple[Evaluation, list[Judge]]) -> None:
    evaluation, _ = erring
    _, pairs = figures_and_pairs(evaluation.tables["judges"])
    kappas = pairs[pairs["metric"] == "kappa"].set_index(["system", "condition", "item"])
    assert {key[:2] for key in kappas.index} == {("a", "against b"), ("a", "against c"), ("b", "against c")}
    assert {"p_value_adjusted", "p_value_scored"} <= set(pairs["metric"])
    votes = evaluation.tables["verdicts"].query("metric == 'claim_recall'")
    key = ["document", "system", "item", "unit"]
    both = votes.pivot(index=key, columns="judge", values="value").astype(bool)
    kappa = kappas.loc[("a", "against b", "claim_recall")]
    assert (kappa["n"], kappa["value"]) == (len(both), pytest.approx(cohen_kappa(both["a"], both["b"])))
    said = "\n".join(judges_text(evaluation.tables, evaluation.systems))
    assert f"kappa, claim recall, a against b: {kappa['value']:.2f} (n {len(both)})" in said
    assert "claim recall, copy: a " in said


def test_every_judge_has_its_rates_on_planted_errors(erring: tuple[Evaluation, list[Judge]]) -> None:
    evaluation, _ = erring
    assert set(evaluation.tables["judge"]["system"]) == set(evaluation.tables["planted"]["judge"]) == set("abc")
    rates = evaluation.tables["judge"].query("metric == 'specificity' and item == 'all' and condition == 'entailment'")
    assert len(rates) == 3 and rates["value"].nunique() > 1


def test_tables_have_their_schemas_and_the_page_escapes_what_it_shows(erring: tuple[Evaluation, list[Judge]]) -> None:
    evaluation = erring[0]
    for stem, table in evaluation.tables.items():
        check(table, table_schema(stem), stem)
    html = page(evaluation, "t", {"judge": "<b>x</b>"})
    assert "Judges side by side" in html and "on which the judges split" in html
    assert "<b>x</b>" not in html


def test_a_judge_reads_the_same_claims_strictly_and_as_a_clinician() -> None:
    rows = [{"id": "a", "source": TEXTS[0], "reference": TEXTS[0], "outputs": {"m": "She coughs."}}]
    read = partial(evaluate, rows, metrics=["doclens", "grounding"], judge="simulator")
    both = read(reading=["strict", "clinician"])
    judges = {f"simulator, {one}" for one in ("strict", "clinician")}
    assert set(both.verdicts["judge"]) == judges and both.verdicts.groupby(UNIT)["judge"].nunique().eq(2).all()
    found, pairs = figures_and_pairs(both.judges)
    assert set(found["condition"]) == judges and set(pairs["item"]) >= {"claim_recall", "claims_supported"}
    assert not pairs["metric"].str.startswith("p_value").any(), "rules are not tested"
    assert set(both.metrics.query("metric == 'claim_recall'")["condition"]) == {"json_cot"}
    assert reading_line(both.metrics) == "claims are read strictly (json_cot)"
    alone = read(reading="clinician")
    assert "as a clinician reads" in reading_line(alone.metrics) and alone.verdicts.empty
    with pytest.raises(ParamsError, match="--reading strickt: expected strict or clinician; did you mean strict"):
        read(reading="strickt")


NOWHERE = "@http://127.0.0.1:9/v1"
COLLIDING = [
    (["--judge", f"m{NOWHERE}", "--judge", "m@http://127.0.0.1:8/v1"], "the name m is taken by --judge m@"),
    (["--judge", "a=simulator", "--judge", f"a=m{NOWHERE}"], "the name a is taken by --judge a=simulator"),
    (["--judge", "simulator", "--judge", "judge"], "the same model as simulator; name each judge once"),
    (["--judge", f"a=m{NOWHERE}", "--judge", f"b=m{NOWHERE}"], "the same model as a=m@"),
    (["--judge", "=simulator"], "expected JUDGE or NAME=JUDGE"),
    (["--judge", "someone", "--judge", "simulator"], "expected simulator, a role of the params"),
    (["--judge", "simulator", "--judge", f"m{NOWHERE}", "--metrics", "overlap"], "nothing to judge"),
]


def _data(folder: Path) -> str:
    row = {"id": "a", "source": TEXTS[0], "reference": TEXTS[0], "outputs": {"copy": TEXTS[0]}}
    (folder / "data.jsonl").write_text(json.dumps(row))
    return str(folder / "data.jsonl")


@pytest.mark.parametrize(("options", "said"), COLLIDING)
def test_names_that_collide_are_refused_in_one_line(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", _data(tmp_path), *options, "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err.strip()
    assert said in error and len(error.splitlines()) == 1 and not (tmp_path / "out").exists()
