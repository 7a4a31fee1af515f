"""An evaluation by the simulator is a dry run in the terminal, on the page and in the tables."""

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.parser import run
from flows.evaluation.api import evaluate
from tasks.reporting.evaluation_text import DRY_RUN
from tasks.tracking import planning
from tests.evaluation.test_first_lines import YES_SAYER, verdicts
from tests.support.params import shipped

FINDINGS = ("a dry cough", "a sore knee", "a headache", "back pain", "a rash", "nausea")


def test_an_evaluation_by_the_rules_tells_and_corrects_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"The patient has had {FINDINGS[n % 6]} for {n + 2} days. She denies fever." for n in range(12)]
    rows = [
        {"id": f"d{n}", "source": text, "reference": text, "outputs": {"copy": text, "short": "The family was there."}}
        for n, text in enumerate(texts)
    ]
    data, card, out = tmp_path / "data.jsonl", tmp_path / "card", tmp_path / "out"
    data.write_text("\n".join(map(json.dumps, rows)))
    card.mkdir()
    verdicts(YES_SAYER).to_parquet(card / "verdicts.parquet")
    given = [
        "evaluate",
        str(data),
        "--metrics",
        "doclens,med_omit,overlap",
        "--judge",
        "simulator",
        "--card",
        str(card),
        "--out",
        str(out),
        "--labels",
    ]
    assert run(given) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == DRY_RUN
    assert "\nlower is better: facts omitted, omission weight\n" in printed.out
    said = next(line for line in printed.out.splitlines() if line.startswith("paired comparisons"))
    assert f"those by the judge are not tested ({DRY_RUN})" in said and "beyond chance (5% family-wise)" in said
    assert f"scores are not corrected by {card}: {DRY_RUN}" in printed.err
    metrics, found = (pd.read_csv(out / "tables" / f"{name}.csv") for name in ("metrics", "comparisons"))
    assert not metrics["metric"].str.endswith("_corrected").any()
    assert metrics.loc[metrics["stage"] == "doclens", "provenance"].str.startswith(DRY_RUN).all()
    rank_p = metrics["metric"].isin(["spearman_p", "pearson_p"])
    assert "spearman" in set(metrics["metric"]) and not rank_p.any(), "no p of what the rules judged"
    judged = found["stage"] != "overlap"
    assert found.loc[judged, "p"].isna().all() and not found.loc[judged, "changed"].any()
    assert found.loc[judged, "note"].eq(DRY_RUN).all() and found.loc[~judged, "p"].notna().any()
    assert json.loads((out / "manifest.json").read_text())["remark"] == DRY_RUN
    page = (out / "report.html").read_text()
    assert f"<h1>{DRY_RUN.capitalize()}. data.jsonl" in page and "larger than chance explains" not in page
    assert "What to report: nothing of a dry run" in page
    people = tmp_path / "people.csv"
    people.write_text(
        "\n".join(["id,system,quality", *(f"d{n},{s},{n}" for n in range(12) for s in ("copy", "short"))])
    )
    monkeypatch.setattr(planning, "powers", partial(planning.powers, studies=2))
    sheet = out / "labels" / "claim_recall_1.csv"
    pd.read_csv(sheet, dtype="str").assign(label="1").to_csv(sheet, index=False)
    for asked in (
        ["agreement", str(sheet)],
        ["plan", str(out), "--documents", "12"],
        ["agreement", str(people), "--human", "quality", "--evaluation", str(out)],
    ):
        assert run(asked) == 0 and capsys.readouterr().out.splitlines()[0] == DRY_RUN
    words = ["evaluate", str(data), "--metrics", "overlap", "--card", str(card), "--out", str(tmp_path / "words")]
    assert run(words) == 0 and f"{card}: corrects nothing, as no judge was asked" in capsys.readouterr().err


def test_outputs_that_the_data_lacks_are_compared_in_a_dry_run_too() -> None:
    """No judge has a part in which outputs are missing."""
    texts = [f"The patient has had {FINDINGS[n % 6]} for {n + 2} days. She denies fever." for n in range(12)]
    both = ("copy", "other")
    rows = [
        {"id": f"d{n}", "source": text, "reference": text, "outputs": dict.fromkeys(both[: 1 + (n < 5)], text)}
        for n, text in enumerate(texts)
    ]
    found = evaluate(rows, metrics=["doclens", "overlap"], judge="simulator").evaluation.tables["comparisons"]
    missing = found[found["metric"] == "unscored outputs"]
    assert len(missing) == 1 and missing["p"].notna().all() and not missing["note"].eq(DRY_RUN).any()
    assert found.loc[found["stage"] == "doclens", "note"].eq(DRY_RUN).all()


def test_the_provenance_of_an_evaluation_names_the_rules_that_judge_claims() -> None:
    row = {"id": "d", "source": "He coughs.", "reference": "He coughs.", "outputs": {"copy": "He coughs."}}
    ruled = shipped(doclens={"evaluator": "simulator"})
    made = evaluate([row], metrics=["doclens"], judge="simulator", params=ruled).metrics
    assert made["provenance"].str.endswith("; claims and citations: simulator's rules").all()
