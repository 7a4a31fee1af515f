"""The stage on SimSUM's release runs whole on the 50 notes at hand, with records that are drawn."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flows.stages.released_notes import FILES, run_simsum_published
from tasks.dataset.simsum import released_split, simsum_csv
from tasks.papers.printed import items
from tasks.papers.reproduction import PUBLISHED, compared
from tests.support.memory_stage import MemoryStage
from tests.support.params import shipped
from tests.support.records import random_records
from tests.support.sources import needs_sources, sources_folder

SPANS = ("normal_spans", "compact_spans")
ONCE = {"epochs": 1, "learning_rate": 0.001}
FAST = {
    "seeds": [0],
    "draws": 100,
    "processes": 1,
    "neural": {"hidden": 16, "least_rows": 1, "two_values": ONCE, "more_values": ONCE},
}


def released(folder: Path) -> pd.DataFrame:
    file = Path(str(sources_folder())) / "simsum" / "real_notes_50.jsonl"
    notes = pd.DataFrame([json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()])
    notes = notes.sort_values("record", ignore_index=True)
    notes = notes.assign(**{name: notes[name].map(lambda given: given or []) for name in SPANS})
    records = random_records(len(notes), seed=3).assign(record=notes["record"])
    (folder / "simsum").mkdir()
    text = simsum_csv(records, notes.rename(columns={"normal": "note"}), notes, domain="respiratory")
    (folder / FILES["notes"]).write_bytes(text.encode())
    for version in ("normal", "compact"):
        spans = dict(zip(notes["record"].astype(str), notes[f"{version}_spans"], strict=True))
        (folder / FILES[version]).write_text(json.dumps(spans), encoding="utf-8")
    return notes


@needs_sources
def test_the_release_is_described_split_and_scored(tmp_path: Path) -> None:
    notes = released(tmp_path)
    stage = MemoryStage(shipped(baselines=FAST), tmp_path, "simsum_published")
    stage.sources = tmp_path
    asyncio.run(run_simsum_published(stage))
    spans, scores, paired = (stage.tables[name] for name in ("simsum_spans", "simsum_text", "simsum_text_paired"))
    by = spans.set_index(["condition", "item", "metric"])["value"]
    for version in ("normal", "compact"):
        counts = notes[f"{version}_spans"].map(len)
        assert by[version, "all", "spans_per_note"] == pytest.approx(counts.mean())
        assert by[version, "all", "share_of_notes_without_spans"] == pytest.approx((counts == 0).mean())
    assert set(scores["system"]) == {"BN-tab", "neural-text", "neural-text-tab"} and set(scores["n"]) == {10}
    assert len(paired) and stage.asked == []
    named = {f"published/{name}": table for name, table in stage.tables.items()}
    found = {name: compared(items()["simsum", name], {**EMPTY, **named}, PUBLISHED) for name in ("Table 3a", "Table 5")}
    assert len(found["Table 3a"]) == len(items()["simsum", "Table 3a"].printed_cells())
    assert {row["basis"] for row in found["Table 3a"]} == {"recomputed"}
    assert {row["row"] for row in found["Table 5"]} == {"BN-tab all", "BN-tab no-sympt", "BN-tab realistic"}, (
        "no BioLORD"
    )


EMPTY = {"published/baselines_replicates": pd.read_csv("reports/published/tables/simsum_text.csv")}


def test_the_split_is_that_of_the_released_code() -> None:
    """A permutation by numpy's old generator, of which the first fifth is for testing."""
    split = released_split(pd.Series(range(10000))).set_index("record")["part"]
    first = np.random.RandomState(2024).permutation(10000)[:2000]
    assert (split == "test").sum() == 2000 and set(split.loc[first]) == {"test"}
