"""A card against an earlier one, and a plan of labels: what they find, and what they promise, in simulated cards."""

import numpy as np
import pandas as pd
import pytest

from tasks.audit.comparisons import against, change_lines
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
    assert any(line.startswith(said) for line in worse(1, before, now))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_against_over_many_seeds() -> None:
    """Levels of 5% for the rates and 1% for all else; a fall of ten points of a rate."""
    alarms = [bool(worse(seed, (0.9, 0.9), (0.9, 0.9))) for seed in range(1000, 1200)]
    falls = [any(", specificity: " in line for line in worse(seed, (0.85, 0.9), (0.95, 0.8))) for seed in range(100)]
    print(f"false alarms {np.mean(alarms):.3f}, falls found {np.mean(falls):.3f}")
    assert np.mean(alarms) <= 0.06 and np.mean(falls) >= 0.95
