"""A card against an earlier one, and a plan of labels: what they find, and what they promise, in simulated cards."""

import numpy as np
import pandas as pd
import pytest

from tasks.audit.card import card_table
from tasks.audit.comparisons import against, change_lines
from tasks.audit.correction import label_half_width
from tasks.statistics.prediction_powered import powered_share
from tests.support.card_verdicts import card_verdicts

KINDS = 4
"""Kinds of true claims, and as many of false ones."""


def card(random: np.random.Generator, sensitivity: float, specificity: float, *, texts: int = 250) -> pd.DataFrame:
    """Two true and two false claims of each text, judged rightly with these probabilities."""
    cases = [
        {"case": f"{truth}{text}.{place}", "document": f"d{text}", "truth": truth, "place": place,
         "kind": f"{'true' if truth else 'false'} {(2 * text + place) % KINDS}"}
        for text in range(texts) for truth in (True, False) for place in range(2)
    ]  # fmt: skip
    table = pd.DataFrame(cases).assign(judge="j", task="claims", factor="", text="t")
    rates = np.where(table["truth"], sensitivity, specificity)
    judged = np.where(random.random(len(table)) < rates, table["truth"], ~table["truth"])
    return card_verdicts(table.assign(judged=judged))


def worse(seed: int, before: tuple[float, float], now: tuple[float, float]) -> list[str]:
    random = np.random.default_rng(seed)
    earlier = card(random, *before)
    return change_lines(against(card(random, *now), earlier))[0]


@pytest.mark.parametrize(("fallen", "now"), [("specificity", (0.95, 0.8)), ("sensitivity", (0.75, 1.0))])
def test_a_fall_of_ten_points_is_found_though_the_other_rate_rises_by_ten(
    fallen: str, now: tuple[float, float]
) -> None:
    before = (0.85, 0.9)
    said = f"worse than the earlier card: j, claims, {fallen}: "
    for seed in range(2):
        assert any(line.startswith(said) for line in worse(seed, before, now))


def test_a_judge_that_errs_anew_at_the_same_rates_is_rarely_worse() -> None:
    alarms = sum(bool(worse(seed, (0.9, 0.9), (0.9, 0.9))) for seed in range(4))
    assert alarms <= 1


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_against_over_many_seeds() -> None:
    """Levels of 5% for the rates and 1% for all else; a fall of ten points of a rate."""
    alarms = [bool(worse(seed, (0.9, 0.9), (0.9, 0.9))) for seed in range(1000, 1200)]
    falls = [any(", specificity: " in line for line in worse(seed, (0.85, 0.9), (0.95, 0.8))) for seed in range(100)]
    print(f"false alarms {np.mean(alarms):.3f}, falls found {np.mean(falls):.3f}")
    assert np.mean(alarms) <= 0.06 and np.mean(falls) >= 0.95


RATES, SHARE, ITEMS, LABELS = (0.9, 0.85), 0.8, 400, 100


def labelled_share(seed: int) -> tuple[float, bool]:
    """Half width of the share of yes among new items by `LABELS` labels and the judge's verdicts; whether it holds."""
    draw = np.random.default_rng(seed)
    truth = draw.random(ITEMS) < SHARE
    judged = np.where(truth, draw.random(ITEMS) < RATES[0], draw.random(ITEMS) >= RATES[1])
    _, low, high = powered_share(truth[:LABELS], judged[:LABELS], judged[LABELS:], seed=seed)
    return (high - low) / 2, low <= SHARE <= high


def test_a_plan_of_labels_promises_no_more_than_labels_give() -> None:
    """Of a judge with known rates the plan is what studies find; from the low ends of a card's rates it is wider."""
    widths, held = zip(*(labelled_share(seed) for seed in range(200)), strict=True)
    alone = label_half_width(None, SHARE, ITEMS, LABELS, seed=1)
    known = label_half_width(RATES, SHARE, ITEMS, LABELS, seed=1)
    assert known == pytest.approx(np.mean(widths), rel=0.05) and np.mean(held) >= 0.92
    for seed in range(3):
        found = card_table(card(np.random.default_rng(seed), *RATES, texts=50), seed=1).set_index("metric")
        lows = found.loc["sensitivity", "low"], found.loc["specificity", "low"]
        assert known < label_half_width(lows, SHARE, ITEMS, LABELS, seed=1) <= 1.02 * alone
