"""Metric rows on the simulator's notes, and the cases planted for the consistency check, worked by hand."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from tasks.evaluation.annotator.planted_errors import COMPACT_KINDS, NOTE_KINDS, plant
from tasks.evaluation.simulator_quality.quality import highest_overlap, repeated_separability, style_statistics
from tasks.evaluation.simulator_quality.rows import error_rows, separability_rows, style_rows, text_rows
from tests.simulator.test_writer import symptom_prompt

KEY = ["condition", "item", "metric"]


def values(table: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return table.set_index(KEY)["value"].to_dict()


def test_shares_of_planted_errors_by_kind_and_together() -> None:
    kinds = {"normal": ["a", None, "b", "a"], "compact": [None, None]}
    table = error_rows(kinds, {"normal": ("a", "b", "c"), "compact": ("d",)})
    assert values(table) == {
        ("normal", "a", "planted_share"): 0.5,
        ("normal", "b", "planted_share"): 0.25,
        ("normal", "c", "planted_share"): 0,
        ("normal", "all errors", "planted_share"): 0.75,
        ("compact", "d", "planted_share"): 0,
        ("compact", "all errors", "planted_share"): 0,
    }
    assert table["n"].tolist() == [4, 4, 4, 4, 2, 2]


def test_stock_sentences_and_near_duplicates_are_counted() -> None:
    words = [f"Word{n} is number {n} of them." for n in range(50)]
    normal = [f"No fever. {word}" for word in words[:49]] + ["Cough."]
    compact = [note[: len(note) // 2] for note in normal]
    long = "one two three four five six seven eight nine ten eleven twelve"
    found = values(text_rows({"normal": normal, "compact": compact}, [long, long, f"{long} more", "else"], seed=1))
    assert found["normal", "most frequent sentence", "share_of_notes"] == pytest.approx(49 / 50)
    assert found["normal", "sentences in over 2%", "count"] == 1, "one of 50 notes is not over 2%"
    assert found["normal", "word 5-gram Jaccard", "pairs_at_0.8"] == 3  # 8 of 9 five-grams are shared
    assert found["normal", "word 5-gram Jaccard", "highest_at_most"] == 1
    ratios = [len(b) / len(a) for a, b in zip(normal, compact, strict=True)]
    assert found["compact", "all", "characters_over_normal"] == pytest.approx(np.mean(ratios))
    assert highest_overlap(["a b c d e", "f g h i j"]) == 0.2
    assert highest_overlap([f"{long} x y z", long]) == pytest.approx(8 / 11)


def test_style_is_compared_with_equally_large_samples() -> None:
    real = {"normal": ["He coughs. No fever.", "Well."], "compact": ["Cough.", "Wel"]}
    written = {"normal": ["She coughs a lot. No fever. Tired."] * 5, "compact": ["Cough. Tired."] * 5}
    table = style_rows(written, real, draws=4, seed=1)
    found = values(table)
    published = style_statistics(real["normal"])
    sample = style_statistics(written["normal"][:2])
    for metric, value in published.items():
        assert found["normal", "style, real", metric] == value
        assert found["normal", "style, embedded", metric] == pytest.approx(sample[metric])
        assert found["normal", "style, ratio", metric] == pytest.approx(sample[metric] / value)
    rows = table.set_index(KEY)
    ratio = rows.loc[("normal", "style, ratio", "sentences_per_note")]
    assert (ratio["low"], ratio["high"], ratio["n"]) == (2.0, 2.0, 2)
    assert found["compact", "style, real", "characters_over_normal"] == pytest.approx((6 / 20 + 3 / 5) / 2)


def test_separability_rows_name_the_encoder_and_the_range_of_the_draws() -> None:
    draw = np.random.default_rng(3)
    real, written = draw.normal(size=(20, 3)).astype("float32"), draw.normal(size=(40, 3)).astype("float32")
    found = repeated_separability(real, written, draws=5, seed=4)
    (row,) = separability_rows({"normal": real}, {"normal": written}, draws=5, seed=4, encoder="e").to_dict("records")
    assert row["value"] == pytest.approx(found.mean()) and row["n"] == 20
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(found, [0.025, 0.975])))
    assert row["provenance"].endswith("; e") and len(set(found)) > 1


LINES = ("cough: yes, dry", "fever: high", "dyspnea: no")
PROMPTS = pd.DataFrame(
    {
        "record": [1, 0],
        "single_prompt": [
            symptom_prompt(*LINES, avoid=("respiratory pain", "nasal symptoms")),
            symptom_prompt("cough: yes, phlegm", "respiratory pain: no", avoid=("fever", "dyspnea")),
        ],
        "instructions": ["of 1", "of 0"],
    }
)


def test_each_kind_of_error_has_as_many_cases_as_asked_and_as_many_notes_are_clean() -> None:
    cases = plant(PROMPTS, "You write notes.", each=2, rounds=60, seed=1)
    counts = Counter(zip(cases["check"], cases["kind"], strict=True))
    for kind in ("symptom_dropped", "contradicted", "descriptor_lost", "forbidden_mentioned"):
        assert counts["consistency", kind] == 2
    assert all(counts["compact", kind] == 2 for kind in COMPACT_KINDS)
    assert counts["consistency", "none"] == 2 * len(NOTE_KINDS)
    assert counts["compact", "none"] == 2 * len(COMPACT_KINDS)
    assert cases["record"].tolist() == list(range(len(cases)))
    assert cases["compact"].notna().tolist() == (cases["check"] == "compact").tolist()
    assert set(cases["instructions"]) == {"of 0", "of 1"} and cases["instructions"].iloc[0] == "of 0"
    pd.testing.assert_frame_equal(cases, plant(PROMPTS, "You write notes.", each=2, rounds=60, seed=1))
    few = plant(PROMPTS, "You write notes.", each=2, rounds=1, seed=1)
    assert 0 < len(few) < len(cases)
