"""MED-OMIT on ACI-BENCH: splits, short dialogues, the test on rewritten summaries, and printed correlations."""

import asyncio
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.errors import MissingSourceError, SourceError
from schemas.tables.metrics import METRICS
from tasks.evaluation.doclens.outside import read_aci_bench, read_outputs
from tasks.evaluation.med_omit.corruption import corrupt_summaries, corruption_rows
from tasks.evaluation.med_omit.dialogues import without_short
from tasks.evaluation.med_omit.reproduction import correlation_rows
from tasks.llm.calls import Answer
from tasks.reproduction.published import load_published
from tasks.statistics.metric_rows import metric_row, metric_table
from tests.support.direct import DirectAsk


class Rewriting(DirectAsk):
    """Takes the fever (F1) out of the summary; returns other requests as they are."""

    async def __call__(self, calls):  # type: ignore[no-untyped-def]
        texts = ["Dry cough." if "F1" in call.messages[-1].content else call.messages[-1].content for call in calls]
        return [Answer(call.key, text=text) for call, text in zip(calls, texts, strict=True)]


def test_removed_facts_are_found_omitted_and_kept_ones_are_not() -> None:
    facts = pd.DataFrame(
        {"document": "e", "fact": ["F0", "F1"], "kind": "medical", "text": ["He has a dry cough.", "He has a fever."]}
    )
    omitted = facts[["document", "fact"]].assign(omitted=pd.array([False, False], dtype="boolean"))
    summaries = {"e": "Dry cough. Fever."}
    for seed in range(10):  # until F1 is drawn
        work = corrupt_summaries(Rewriting(), DirectAsk(), facts, omitted, summaries, remove=1, seed=seed)
        table, unscored = asyncio.run(work)
        assert unscored == []
        if table.set_index("fact").loc["F1", "removed"]:
            break
    rows = METRICS.validate(corruption_rows(table, seed=1, provenance="p", condition="paper")).set_index("metric")
    assert rows["value"].to_dict() == {"removed_found": 1, "kept_not_found": 1}
    stated = omitted.assign(omitted=pd.array([False, True], dtype="boolean"))
    work = corrupt_summaries(Rewriting(), DirectAsk(), facts, stated, summaries, remove=1, seed=1)
    assert asyncio.run(work)[0].empty  # a summary with one stated fact is left alone


def test_a_dialogue_that_is_too_short_when_truncated_is_excluded_and_listed() -> None:
    kept, short = without_short({"e": "[patient] hello", "f": "a\nb\nc"}, 3)
    assert list(kept) == ["f"]
    assert [(row["record"], row["step"]) for row in short] == [("e", "truncate")]
    assert "1: fewer lines" in str(short[0]["reason"])


def test_splits_of_aci_bench_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "aci_bench").mkdir()
    for at, split in enumerate(("test1", "test2")):
        row = pd.DataFrame({"encounter_id": [f"e{at}"], "dialogue": ["[doctor] hi"], "note": [f"note {at}"]})
        row.to_csv(tmp_path / "aci_bench" / f"{split}.csv", index=False)
    assert read_aci_bench(tmp_path, ["test1", "test2"])["encounter"].tolist() == ["e0", "e1"]
    found = read_outputs(tmp_path, {"s": "aci_bench/{split}.csv"}, ["test1", "test2"])
    assert found == {"s": {"e0": "note 0", "e1": "note 1"}}
    with pytest.raises(SourceError, match=r"test3.csv: no such file"):
        read_aci_bench(tmp_path, ["test1", "test3"])
    with pytest.raises(MissingSourceError):
        read_aci_bench(tmp_path, ["test3"])


def test_printed_correlations_are_compared_with_those_of_the_same_models() -> None:
    found = metric_table(
        [
            metric_row("spearman", 0.1, n=40, system="GPT-4 (zero-shot, ACI-BENCH)", item="weight and rougeLsum_f"),
            metric_row("pearson", np.nan, n=40, system="another", item="weight and rougeLsum_f"),
        ],
        stage="med_omit",
        condition="paper",
        provenance="p",
    )
    printed = [load_published(f"medomit_{stem}") for stem in ("table2_correlations", "table5_correlations")]
    rows = correlation_rows(*printed, found, basis="offline").set_index(["table", "row", "column"])
    assert set(rows.index) == {
        ("Table 2", "gpt-4 / Rouge LSum", "weight_spearman"),
        ("Table 5", "gpt4 / gpt4 / rougeLsum", "weight_spearman"),
    }
    assert rows["published"].tolist() == [0.003, 0.003]
    assert rows["tolerance"].iloc[0] == pytest.approx(1.96 * np.sqrt(1 / 113 + 1 / 37))
