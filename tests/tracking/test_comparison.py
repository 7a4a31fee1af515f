"""Comparisons: arithmetic by hand, pairing, false alarms and power."""

import numpy as np
import pandas as pd
import pytest

from tasks.tracking.comparison import compare, pair
from tasks.tracking.measures import Measure, prediction_measures, score_measures


def predictions(label: list[str], predicted: list[str], symptom: str = "cough", seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "record": range(len(label)),
            "system": "neural-text",
            "condition": "normal",
            "symptom": symptom,
            "seed": seed,
            "label": label,
            "predicted": predicted,
        }
    )


def test_f1_of_a_binary_symptom_by_hand() -> None:
    table = predictions(["yes", "yes", "yes", "no"], ["yes", "yes", "no", "yes"])
    (measure,) = prediction_measures(table, "baseline").values()
    assert measure.value() == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))  # 2 hits, 1 wrong, 1 missed


def test_f1_of_fever_is_macro_over_its_values() -> None:
    table = predictions(["none", "low", "high", "high"], ["none", "high", "high", "high"], symptom="fever")
    (measure,) = prediction_measures(table, "baseline").values()
    assert measure.value() == pytest.approx((1 + 0 + 4 / 5) / 3)


def test_records_pair_by_id_and_the_others_are_counted() -> None:
    scores = pd.DataFrame({"system": "s", "condition": "c", "item": "i", "metric": "m"}, index=range(4))
    a = score_measures(scores.assign(record=[3, 1, 2, 0], value=[0.3, 0.1, 0.2, 0.0]), "doclens")
    b = score_measures(scores.assign(record=[1, 2, 3, 4], value=[0.1, 0.2, 0.3, 9.0]), "doclens")
    paired = pair(*a.values(), *b.values())
    assert paired.a.records.tolist() == [1, 2, 3]
    assert paired.unpaired == 2
    assert paired.a.value() == pytest.approx(0.2) == paired.b.value()


def test_equal_lineages_differ_in_nothing() -> None:
    (measure,) = prediction_measures(predictions(["yes", "no"] * 50, ["yes", "yes"] * 50), "baseline").values()
    row = compare([pair(measure, measure)], seed=0).iloc[0]
    assert (row["difference"], row["p"], row["changed"]) == (0, 1, False)


def test_a_difference_on_every_record_without_noise_is_certain() -> None:
    scores = pd.DataFrame({"record": range(20), "system": "s", "condition": "c", "item": "i", "metric": "m"})
    (a,) = score_measures(scores.assign(value=0.5), "doclens").values()
    (b,) = score_measures(scores.assign(value=0.6), "doclens").values()
    row = compare([pair(a, b)], seed=0).iloc[0]
    assert row["changed"]
    assert row["difference"] == pytest.approx(0.1)


def test_nothing_to_compare_gives_an_empty_table() -> None:
    assert len(compare([], seed=0)) == 0


def test_questions_of_a_record_are_taken_together() -> None:
    """An item of its own for each question, each about one record: no measure can be made of one record."""
    scores = pd.DataFrame(
        {
            "record": [1, 1, 2],
            "system": "answerer",
            "condition": "normal",
            "item": ["p1/1", "p1/2", "p2/1"],
            "metric": "score",
            "value": [1.0, 0.0, 1.0],
        }
    )
    (measure,) = score_measures(scores, "note_qa").values()
    assert measure.key[3] == "all" and measure.records.tolist() == [1, 2]
    assert measure.value() == pytest.approx(0.75)


def test_too_few_records_are_shown_and_never_said_to_have_changed() -> None:
    scores = pd.DataFrame({"record": range(3), "system": "s", "condition": "c", "item": "i", "metric": "m"})
    (a,) = score_measures(scores.assign(value=0.5), "doclens").values()
    (b,) = score_measures(scores.assign(value=0.9), "doclens").values()
    row = compare([pair(a, b)], seed=0).iloc[0]
    assert (row["p"], row["changed"]) == (1, False)
    assert row["difference"] == pytest.approx(0.4)


def family(rng: np.random.Generator, latent: np.ndarray, loss: float = 0.0) -> list[Measure]:
    """Five classifiers of five seeds on the same records; training seeds move single predictions and the threshold."""
    measures = []
    for place, row in enumerate(latent):
        label = row > 0.4
        noise = 0.15 * rng.normal(size=(5, row.size)) + 0.03 * rng.normal(size=(5, 1))
        guess = row + 0.1 * np.sin(9 * row) + noise > 0.4
        if place == 2 and loss:
            guess &= ~((rng.random(row.size) < loss) & label)
        parts = np.stack([label & guess, ~label & guess, label & ~guess], axis=-1).astype(np.float32)
        key = ("baseline", "neural-text", "normal", str(place), "f1")
        measures.append(Measure(key, np.arange(row.size), np.moveaxis(parts, 0, 1)[:, :, None, :]))
    return measures


def compared(rng: np.random.Generator, seed: int, loss: float = 0.0) -> pd.DataFrame:
    latent = rng.normal(size=(5, 1000))
    pairs = [pair(a, b) for a, b in zip(family(rng, latent), family(rng, latent, loss), strict=True)]
    return compare(pairs, seed=seed, draws=400)


def test_training_seeds_alone_rarely_raise_an_alarm() -> None:
    rng = np.random.default_rng(11)
    alarms = sum(compared(rng, seed)["changed"].any() for seed in range(60))
    assert alarms <= 8  # 5% expected; more than 8 of 60 has a chance under 1%


def test_a_loss_in_one_symptom_is_found_and_named() -> None:
    rng = np.random.default_rng(12)
    found = [compared(rng, seed, loss=0.1)["changed"].tolist() for seed in range(20)]
    assert sum(row[2] for row in found) >= 16
