"""Metrics against people's scores: correlations by hand, and the rule for texts without claims."""

import asyncio
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from flows.repository.params import load_params
from flows.stages.human_labels import judge_recorded
from flows.stages.recorded_judge import CASSETTES
from tasks.judges.human_scores import (
    ALL,
    adjusted_rows,
    correlation_rows,
    detection_rows,
    difference_rows,
    nothing_to_judge,
    wide_scores,
    within_rows,
)
from tasks.llm.recorded import RecordedAsk, read_recorded
from tasks.texts.mts_dialog import read_study
from tests.support.cases import each
from tests.support.counts import check_counts
from tests.support.imports import ROOT
from tests.support.sources import needs_sources, sources_folder


def table(documents: int = 12, systems: int = 2, seed: int = 1) -> pd.DataFrame:
    """Summaries whose people's score is a good metric plus noise; another metric is noise."""
    random, size = np.random.default_rng(seed), documents * systems
    good = random.random(size)
    return pd.DataFrame(
        {
            "document": np.repeat([f"d{n}" for n in range(documents)], systems),
            "system": np.tile([f"s{n}" for n in range(systems)], documents),
            "good": good,
            "noise": random.random(size),
            "human": good + 0.1 * random.random(size),
            "rate": np.where(good < 0.3, 0.5, 0.0),
        }
    )


def everything(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    return {ALL: np.ones(len(frame), dtype=bool)}


def test_correlations_count_the_summaries_without_a_score() -> None:
    frame = table()
    frame.loc[3, "good"] = np.nan
    rows = correlation_rows(frame, ["good"], ["human"], everything(frame), system="judge")
    by = {row["metric"]: row for row in rows}
    scored = frame.dropna()
    assert by["pearson"]["value"] == pytest.approx(np.corrcoef(scored["good"], scored["human"])[0, 1])
    assert set(by) == {"pearson", "spearman", "kendall"}
    assert all((row["n"], row["unscored"]) == (23, 1) and row["low"] < row["value"] < row["high"] for row in rows)


@each("rows_of", [
    lambda own: correlation_rows(own, ["good", "noise"], ["human"], everything(own)),
    lambda own: difference_rows(own, [("good", "noise")], ["human"], everything(own)),
    lambda own: within_rows(own, ["good", "noise"], ["human"]),
    lambda own: [row for row in detection_rows(own, ["good", "noise"], "rate") if row["metric"] == "auc"],
])  # fmt: skip
def test_missing_scores_are_counted_in_every_row(rows_of: Callable[[pd.DataFrame], list[dict]]) -> None:
    check_counts(rows_of, table(), "good")


def test_a_metric_that_agrees_is_closer_than_noise_and_not_than_itself() -> None:
    frame = table(40)
    (row,) = difference_rows(frame, [("good", "noise")], ["human"], everything(frame), system="judge")
    assert row["low"] > 0.3 and row["item"] == "good - noise" and row["n"] == 80
    (same,) = difference_rows(frame, [("good", "good")], ["human"], everything(frame), system="judge")
    assert same["value"] == 0 and same["low"] <= 0 <= same["high"]
    few = frame[frame["document"].isin(frame["document"].unique()[:8])].reset_index(drop=True)
    (row,) = difference_rows(few, [("noise", "good")], ["human"], everything(few))
    assert row["low"] == -1 < row["value"], "sizes differ by 1 at most, though their bootstrap does not know"


def test_a_metric_of_the_other_sign_is_closer_by_the_size_of_its_correlation() -> None:
    frame = table(40)
    frame["omissions"] = 1 - frame["good"]
    rows = difference_rows(frame, [("omissions", "noise"), ("noise", "omissions")], ["human"], everything(frame))
    assert rows[0]["low"] > 0.3 and rows[1]["high"] < -0.3
    assert rows[0]["value"] == pytest.approx(-rows[1]["value"])
    (row,) = adjusted_rows(frame, [("omissions", "noise")], ["human"], seed=1, draws=400)
    assert row["value"] < 0.01


@each("documents", [13, 14, 20])
def test_a_metric_that_is_equal_without_one_document_is_not_tested(documents: int) -> None:
    """Its correlation without that document is undefined, whatever rounding leaves of its spread."""
    frame = table(documents, 1).assign(odd=[0.0, *[1.0] * (documents - 1)])
    assert adjusted_rows(frame, [("odd", "noise")], ["human"], seed=1) == []


def test_a_metric_that_knows_only_the_document_has_no_correlation_within_documents() -> None:
    random, documents, systems = np.random.default_rng(2), 80, 4
    frame = table(documents, systems)
    own = random.normal(size=documents).repeat(systems)
    frame["human"] = own + 1.2 * random.normal(size=len(frame))
    frame = frame.assign(coarse=own, knows=own + 0.7 * random.normal(size=len(frame)), reads=frame["human"] - 2 * own)
    pooled = correlation_rows(frame, ["knows", "reads"], ["human"], everything(frame))
    assert pooled[0]["value"] > 0.4
    by = {row["item"]: row for row in within_rows(frame, ["coarse", "knows", "reads"], ["human"])}
    assert by["knows"]["low"] < 0 < by["knows"]["high"] and abs(by["knows"]["value"]) < 0.15
    assert by["reads"]["low"] > 0.9 and by["reads"]["n"] == 320 and np.isnan(by["coarse"]["value"])
    assert within_rows(frame.drop_duplicates("document"), ["knows"], ["human"]) == []


def test_of_differences_between_equal_metrics_none_is_beyond_chance_once_adjusted() -> None:
    """66 differences between 12 metrics that are the score and noise; docs/agreement.md."""
    excluded, found = [], []
    for seed in range(2):
        random = np.random.default_rng(seed)
        score = random.normal(size=24)
        metrics = {f"m{n}": score + random.normal(size=24) for n in range(12)}
        frame = pd.DataFrame({"document": np.arange(24), "human": score, **metrics})
        pairs = list(combinations(metrics, 2))
        rows = difference_rows(frame, pairs, ["human"], everything(frame))
        excluded.append(any(row["low"] > 0 or row["high"] < 0 for row in rows))
        adjusted = adjusted_rows(frame, pairs, ["human"], seed=1, draws=200)
        assert len(adjusted) == 66 and [row["item"] for row in adjusted] == [row["item"] for row in rows]
        found.append(min(row["value"] for row in adjusted) < 0.05)
    assert any(excluded) and not any(found)
    assert adjusted_rows(frame.head(7), pairs, ["human"], seed=1) == [], "too few documents"


def test_hallucinations_are_found_by_values_below_1() -> None:
    """Two of five summaries have one; the metric finds one of them, and one of the three others."""
    frame = pd.DataFrame({"document": list("abcde"), "metric": [1, 0.5, 1, 0.8, 1], "rate": [0.2, 0.1, 0, 0, 0]})
    by = {row["metric"]: row for row in detection_rows(frame, ["metric"], "rate", system="judge")}
    assert by["sensitivity"]["value"] == 0.5 and by["sensitivity"]["n"] == 2
    assert by["specificity"]["value"] == pytest.approx(2 / 3) and by["specificity"]["n"] == 3
    assert by["auc"]["value"] == pytest.approx((0.5 + 0 + 0.5 + 1 + 1 + 1) / 6)  # ties count half


def test_a_text_without_claims_has_the_value_of_the_rule_and_a_failure_has_none() -> None:
    human = pd.DataFrame({"document": ["a", "a", "b"], "system": ["x", "y", "x"], "value": [1.0, 0.0, 0.5]})
    human["metric"] = "FactualRecall"
    scores = pd.DataFrame({"document": ["b"], "system": ["x"], "metric": ["claim_recall"], "value": [0.25]})
    own = wide_scores(scores, human).assign(claim_precision=np.nan)
    unscored = pd.DataFrame(
        [
            ("a", None, "claim_recall", "unusable reply: claims: no claims are listed"),
            ("a", "x", "claim_precision", "unusable reply: claims: no claims are listed"),
            ("b", "x", "claim_precision", "the endpoint did not answer"),
        ],
        columns=["document", "system", "step", "reason"],
    )
    found = nothing_to_judge(own, unscored)
    assert found["claim_recall"].tolist() == [True, True, False]
    assert found["claim_precision"].tolist() == [True, False, False]
    assert set(found) == {"claim_recall", "claim_precision"}, "the other metrics were not measured"


def test_a_contradicted_claim_finds_a_hallucination_as_an_unsupported_one_does() -> None:
    frame = pd.DataFrame({"document": list("abcd"), "claims_supported": [1, 0.5, 1, 0], "rate": [0.1, 0.2, 0, 0]})
    frame["claims_contradicted with rule"] = 1 - frame["claims_supported"]
    both = detection_rows(frame, ["claims_supported", "claims_contradicted with rule"], "rate", system="judge")
    by = {(row["item"], row["metric"]): row["value"] for row in both}
    for measure in ("auc", "sensitivity", "specificity"):
        assert by["claims_supported", measure] == by["claims_contradicted with rule", measure]
    assert by["claims_supported", "auc"] == pytest.approx((0.5 + 0 + 1 + 0) / 4)  # the two with one against the others


@needs_sources
def test_every_recorded_request_about_the_study_is_asked_for_and_answered() -> None:
    sources = sources_folder()
    documents, _ = read_study(sources)
    replies = read_recorded(ROOT / CASSETTES / "mts_dialog.jsonl.gz")
    ask = RecordedAsk("recorded", replies)
    made = asyncio.run(judge_recorded(documents, ask, load_params(ROOT / "params.yaml")))
    assert (
        made["unscored"].empty and made["doclens"]["value"].notna().all() and made["grounding"]["value"].notna().all()
    )
    assert made["doclens"].groupby(["document", "system"]).ngroups == 400
    assert ask.used == set(replies), "a reply to a prompt that no longer exists is of no use"
