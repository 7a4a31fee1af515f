"""The summary of an evaluation in the terminal, and claims placed in the text that they come from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from flows.evaluation.folder import sampled
from tasks.reporting.evaluation_page import _comparisons, align, aligned_segments
from tasks.reporting.evaluation_text import (
    DRY_RUN,
    judges_text,
    main_table,
    means,
    ruled,
    shown,
    summary_text,
    what_to_report,
)
from tasks.tracking.comparison import BESIDE, DIRECTED, TOO_FEW, UNDECIDED
from tests.support.cases import from_table

COLUMNS = ["system", "item", "metric", "value", "low", "high", "n", "unscored"]
METRICS = pd.DataFrame(
    [
        ("a", "all", "rouge1_f", 0.4, 0.35, 0.45, 12, 0),
        ("a", "all", "claim_recall", 0.5, 0.4, 0.6, 11, 1),
        ("b", "all", "claim_recall", 0.75, 0.7, 0.8, 12, 0),
        ("b", "plan", "claim_precision", 0.9, 0.8, 1.0, 12, 0),
        ("b", "all", "words", 40.0, 30.0, 50.0, 12, 0),
    ],
    columns=COLUMNS,
).assign(stage="doclens", condition="json_cot")


UNSCORED = pd.DataFrame(
    [("3", "doclens", "claim_recall, section plan", "a", "unusable reply")],
    columns=["document", "method", "step", "system", "reason"],
)


def summary(
    compared: pd.DataFrame | None = None,
    systems: Sequence[str] = ("a",),
    unscored: pd.DataFrame | None = None,
    metrics: pd.DataFrame = METRICS,
    **more: Any,
) -> list[str]:
    none, failed = pd.DataFrame(), UNSCORED.head(0) if unscored is None else unscored
    tables = {"metrics": metrics, "comparisons": none if compared is None else compared, "unscored": failed}
    shown = {"documents": 12, "models": {"judge": "a model"}} | more
    return summary_text(tables, list(systems), **shown).split("\n")


def comparisons(count: int) -> pd.DataFrame:
    row = {"system_a": "a", "system_b": "b", "item": "all", "difference": 0.25, "low": 0.125, "high": 0.5, "n": 20}
    row |= {"note": ""}
    rows = [row | {"metric": f"m{n:02}", "p": n / 1000, "changed": True} for n in range(count)]
    return pd.DataFrame([*rows, row | {"metric": "same", "p": 0.9, "changed": False}])


def test_only_measured_metrics_of_whole_texts_are_shown_in_the_fixed_order() -> None:
    names, rows = main_table(METRICS, ["a", "b"])
    assert names == ["claim_recall", "rouge1_f"]
    assert [(system, [row and row["value"] for row in found]) for system, found in rows] == [
        ("a", [0.5, 0.4]),
        ("b", [0.75, None]),
    ]
    assert (shown("claim_recall", 0.5), shown("rouge1_f", 0.5)) == ("50.0%", "0.500")


def test_the_summary_has_a_column_per_system_n_of_each_figure_and_names_what_failed() -> None:
    lines = summary(systems="ab", unscored=UNSCORED)
    assert lines[0] == "12 documents"
    recall = next(line for line in lines if line.startswith("claim recall"))
    assert "50.0% (40.0–60.0) n 11/12" in recall and "75.0% (70.0–80.0) n 12" in recall
    rouge = next(line for line in lines if line.startswith("ROUGE-1"))
    assert "0.400 (0.350–0.450) n 12" in rouge and rouge.endswith("–")
    assert "  doclens, claim_recall, section plan, a: 3: unusable reply" in lines
    missing = UNSCORED.assign(method="writing", step="output", system=None, reason="the data has no output")
    assert "  all systems: 3: the data has no output" in summary(unscored=missing)


def test_a_metric_has_bars_in_no_column_unless_all_its_intervals_are_those_of_shares() -> None:
    low, high = (
        {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 9, "unscored": 0} for value in (0.6, 1.2)
    )
    rows = means(["omission_weight", "claim_recall"], {"a": [low, low], "b": [high, low]}).rows
    assert [[one is not None and one.bar is not None for one in row[1:]] for row in rows] == [[False] * 2, [True] * 2]


def test_documents_that_were_scored_in_part_are_counted_beside_n() -> None:
    recall = METRICS[METRICS["metric"] == "claim_recall"]
    bounds = recall.assign(metric="claim_recall_bounds", n=12, unscored=recall["unscored"] + [2, 0])
    metrics = pd.concat([METRICS, bounds], ignore_index=True)
    said = "\n".join(summary(systems="ab", metrics=metrics))
    reported = what_to_report(metrics.assign(provenance=""), ["a", "b"], documents=12, models={}, cite="")
    assert "; n = 11, 2 scored in part, 1 without a score); b 75.0%" in reported
    assert "n 11/12, 2 in part" in said and "75.0% (70.0–80.0) n 12\n" in said and "\nin part: documents of" in said


def test_what_to_report_names_method_judge_card_means_and_what_is_missing() -> None:
    metrics = METRICS.assign(provenance="judge: x")
    pairs = comparisons(1).replace("m00", "claim_recall").assign(p=0.02)
    about = {"documents": 12, "models": {"judge": "gpt"}, "cite": "Cite us."}
    said = what_to_report(metrics, ["a", "b"], comparisons=pairs, **about)
    assert "Methods: DocLens (Xie et al. 2024); claims are read strictly (json_cot)." in said
    assert "; b minus a +25.0 points (95% CI +12.5 to +50.0; adjusted p = 0.020; n = 20)." in said
    assert " 2 tests (tables/comparisons.csv): p by sign flips and bootstrap t" in said
    assert "minus" not in what_to_report(metrics, ["a", "b", "c", "d"], comparisons=pairs, **about)
    open_ = what_to_report(metrics, ["a", "b"], comparisons=pairs.assign(note=UNDECIDED.format(1)), **about)
    assert "adjusted p = 0.020; n = 20; cannot be told: the missing scores decide (n 1))" in open_
    untested = what_to_report(metrics, ["a", "b"], comparisons=pairs.assign(p=np.nan), **about)
    assert "+12.5 to +50.0; not tested; n = 20)" in untested
    alone = what_to_report(metrics, ["a", "b"], comparisons=pairs.assign(low=np.nan, p=np.nan, n=1), **about)
    assert "b minus a +25.0 points (not tested; n = 1)" in alone
    of_first = {**about["models"], "judge gpt": "gpt", "judge other": "other"}
    assert what_to_report(metrics, ["a", "b"], comparisons=pairs, **about | {"models": of_first}) == said
    by_writer = what_to_report(metrics, ["a", "writer, 0 examples"], **about | {"models": {"writer": "w"}})
    assert by_writer.startswith("We evaluated a; writer, 0 examples on 12 documents (writer w).")
    assert said.startswith(
        "We evaluated a; b on 12 documents (judge gpt; no report card corrects the judge's verdicts)."
    )
    assert "Claim recall (share of the reference's claims that the output states): a 50.0% (95% CI 40.0% to" in said
    assert "60.0%; n = 11, 1 without a score); b 75.0% (95% CI" in said
    assert said.endswith("Cite us.")
    role = {"base_url": "https://user:key@host/v1", "temperature": 0.5, "send_seed": False}
    assert sampled("gpt", role) == "gpt at host, temperature 0.5, no seed sent"
    assert sampled("gpt", {"base_url": "http://host:1/v1"}) == "gpt at host, temperature not set, seed sent"
    corrected = metrics.assign(provenance="corrected by the card c of gpt")
    assert "corrected by the card c of gpt" in what_to_report(
        corrected, ["a"], documents=1, models={"judge": "gpt"}, cite=""
    )


def test_documents_that_the_rules_cannot_read_are_named_before_any_figure() -> None:
    lines = summary(models={"judge": "v (simulator's rules)"}, foreign={"d1": "German"})
    assert lines[2] == "warning: the rules read English only; German: d1: leave them out, or choose a model"


def test_of_several_judges_the_rules_are_named_once() -> None:
    rules = "v (simulator's rules)"
    assert ruled({"judge": rules, "judge rules": rules, "judge m": "m", "writer": rules}) == ["judge", "writer"]
    assert ruled({"judge": "m", "judge m": "m", "judge rules": rules}) == ["judge rules"]


def test_judges_without_a_verdict_on_the_same_do_not_always_say_the_same() -> None:
    row = {"system": "j", "condition": "against k", "item": "claim_recall", "metric": "kappa", "value": np.nan}
    judges = pd.DataFrame([row | {"n": 0}, row | {"n": 9}])
    first, second = judges_text({"judges": judges, "verdicts": judges}, ["a"])[-2:]
    assert first.endswith("not defined, as no unit has a verdict of both (n 0)")
    assert second.endswith("not defined, as both always say the same (n 9)")


def test_an_evaluation_by_the_rules_is_headed_as_a_dry_run_and_tells_nothing_from_chance() -> None:
    made, by_rules = comparisons(13), {"judge": "v (simulator's rules)"}
    lines = summary(made.assign(p=np.nan, note=DRY_RUN), models=by_rules)
    assert lines[0] == DRY_RUN and not any("beyond chance" in line for line in lines)
    said = f"paired comparisons: 14, in tables/comparisons.csv; {DRY_RUN}, so that none is told from chance here"
    assert lines[-1] == said
    judged = made["metric"] == "m00"
    made = made.assign(p=made["p"].mask(judged), note=made["note"].mask(judged, DRY_RUN))
    said = f"paired comparisons: 14; those by the judge are not tested ({DRY_RUN}); tested: 13, beyond chance "
    assert f"{said}(5% family-wise) on whole texts: 12" in summary(made, models=by_rules)
    assert summary(comparisons(13), models={"writer": "v (simulator's rules)"})[0] != DRY_RUN


def test_differences_beyond_chance_are_listed_by_p_and_the_rest_counted() -> None:
    lines = summary(comparisons(13))
    start = lines.index("paired comparisons: 14; tested: 14, beyond chance (5% family-wise) on whole texts: 13")
    assert lines[start + 1] == "  b minus a, m00 (tables/metrics.csv): +0.250 [+0.125, +0.500], p <0.001, n 20"
    labelled = summary(comparisons(1).replace("m00", "claim_recall"))
    assert any(line.startswith("  b minus a, claim recall: +0.250") for line in labelled), "as in the table of means"
    assert lines[start + 12].startswith("  b minus a, m11 (")
    assert lines[start + 13] == "  ... and 1 more in tables/comparisons.csv"
    assert lines[start + 14].startswith("  p by sign flips") and len(lines) == start + 15
    assert not any("more in" in line for line in summary(comparisons(12)))


def test_a_difference_that_failed_documents_may_change_is_shown_and_what_they_may_do_is_said() -> None:
    table = comparisons(3).assign(p=0.007)
    table.loc[1:2, "changed"], table.loc[1, "note"] = False, UNDECIDED.format(5)
    table.loc[2, "note"] = DIRECTED.format(1, 0.57, 0.65)
    lines = summary(table, unscored=UNSCORED)
    assert any(line.endswith("whole texts: 1, and 3 more unless the missing scores say otherwise") for line in lines)
    shown = [line for line in lines if line.startswith("  b minus a")]
    assert [line.partition(", n 20")[2] for line in shown[:3]] == [
        "", "; cannot be told: the missing scores decide (n 5)",
        "; beyond chance without the missing scores (n 1), and no longer with the worst that these may be, though the "
        "difference would still lie between +0.570 and +0.650",
    ]  # fmt: skip
    assert all("+0.250 [+0.125, +0.500], p 0.007, n 20" in line for line in shown[:3])


def test_a_metric_that_lacks_something_in_some_documents_is_named() -> None:
    """Neither are these in n, nor did anything fail there."""
    metrics = METRICS.replace({"words": "claim_precision"}).assign(provenance="a model")
    lines = summary(systems=["a", "b"], metrics=metrics, documents=13)
    lacks = "no reference, claim, fact or citation"
    assert f"n below 13 where other documents have {lacks}: claim recall, claim precision, ROUGE-1" in lines
    report = what_to_report(metrics, ["a", "b"], documents=13, models={}, cite="")
    assert f"a 50.0% (95% CI 40.0% to 60.0%; n = 11, 1 without a score, {lacks} in 1)" in report
    assert not any("n below" in line for line in summary())


def test_a_corrected_mean_outside_0_to_100_percent_alone_says_nothing_of_the_judge() -> None:
    corrected = METRICS[METRICS["metric"] == "claim_recall"].assign(metric="claim_recall_corrected", value=1.01)
    metrics = pd.concat([METRICS, corrected.assign(low=0.892, high=1.367)], ignore_index=True)
    (said,) = (line for line in summary(metrics=metrics.assign(provenance="a model")) if "its card" in line)
    assert "by chance, but where its whole interval is, the judge errs otherwise" in said


def test_untested_differences_are_counted_by_the_reason() -> None:
    few, enough = (comparisons(1).assign(n=n, p=1.0, changed=False) for n in (7, 8))
    few["note"] = TOO_FEW
    assert summary(few)[-1] == "paired comparisons: 2; not tested, as this takes at least 8 documents"
    assert "not tested" not in summary(enough)[-1]
    beside = enough.head(1).assign(metric="bleu", p=np.nan, note=BESIDE)
    both = pd.concat([few, beside, enough.assign(metric="unscored m0")], ignore_index=True)
    (line,) = [line for line in summary(both) if line.startswith("paired")]
    said = f"paired comparisons: 3, and 2 of how often a score is missing; 2 {TOO_FEW}; 1 {BESIDE}; tested: 2"
    assert line.startswith(said)
    more = dict.fromkeys(("a", "b", "bound_low", "bound_high", "failed_a", "failed_b", "failed_both"), 0)
    (section,) = _comparisons(both.assign(**more), dry_run=False)
    assert "Differences: 3, and 2 of how often a score is missing; tested: 2;" in section.paragraphs[0]


TEXT = "The patient has a dry cough.\n\nNo fever, no dyspnea. Amoxicillin 500 mg was started."


def test_a_claim_belongs_to_the_sentence_with_most_of_its_words() -> None:
    cut = aligned_segments(TEXT)
    claims = ["Dry cough is present.", "There is no fever.", "He was given amoxicillin.", "She smokes.", "of the"]
    cough, fever, drug = (at for at, (_, is_sentence) in enumerate(cut) if is_sentence)
    assert align(claims, cut) == [cough, fever, drug, None, None]


@from_table
def test_a_claim_is_placed(claim: str, sentences: list[str], place: int | None) -> None:
    assert align([claim], [(sentence, True) for sentence in sentences]) == [place]
    assert align([claim], [(sentence, False) for sentence in sentences]) == [None], "between the sentences"
