"""`vignette plan`: what studies drawn from a pilot find, beside studies drawn from the population."""

import numpy as np
import pandas as pd
import pytest

from schemas.tables.columns import typed
from schemas.tables.evaluate import DOCUMENT_SCORES
from tasks.statistics.intervals import COUNT, mean_interval
from tasks.tracking.comparison import compare_systems
from tasks.tracking.planning import half_widths, powers


def scores(a: np.ndarray, b: np.ndarray) -> pd.DataFrame:
    """Claim recall of two systems on the same documents."""
    rows = [
        {"record": place, "document": f"d{place:03}", "system": system, "value": float(value)}
        for system, values in (("a", a), ("b", b))
        for place, value in enumerate(values)
    ]
    about = {"stage": "doclens", "condition": "json_cot", "item": "all", "metric": "claim_recall"}
    return typed([{**row, **about} for row in rows], DOCUMENT_SCORES)


def drawn(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Shares of five claims, with ties: b has one claim more in about a third of the documents."""
    a = rng.binomial(5, 0.7, n) / 5
    return scores(a, np.clip(a + (rng.random(n) < 0.45) * 0.2 - (rng.random(n) < 0.15) * 0.2, 0, 1))


def test_planned_half_widths_are_those_of_studies_of_that_size() -> None:
    rng = np.random.default_rng(1)
    planned = np.mean([half_widths(drawn(rng, 30), [120], seed=s, studies=20)["120"].iloc[0] for s in range(30)])
    ends = [mean_interval(drawn(rng, 120).query("system == 'a'")["value"]) for _ in range(60)]
    assert planned == pytest.approx(np.mean([(high - low) / 2 for _, low, high in ends]), rel=0.06)


def test_only_intervals_of_shares_know_their_bounds() -> None:
    """They are wider near an end; what is no share, by its name or its values, has the interval of any mean."""
    near = scores(np.repeat([1.0, 0.6], [9, 1]), np.zeros(10)).query("system == 'a'")

    def width(value: pd.Series, metric: str = "claim_recall") -> float:
        return float(half_widths(near.assign(value=value, metric=metric), [10], seed=1, studies=20)["10"].iloc[0])

    free = width(near["value"], "length")
    assert width(near["value"]) > 2 * free
    assert width(near["value"] + 0.5) == pytest.approx(free) == pytest.approx(width(near["value"] - 1.5))


def test_what_too_few_documents_of_the_pilot_have_is_not_planned() -> None:
    """One score would give a half width of 0; a study of eight documents tests, so its power is not 0 for that."""
    rng = np.random.default_rng(5)
    a = rng.random(12)
    rare = scores(a[:1], a[:1]).assign(metric="claim_precision")
    both = pd.concat([scores(a, a + 0.3), rare])
    widths, found = half_widths(both, [8], seed=1, studies=5), powers(both, [8], seed=1, studies=5)
    for table in (widths, found):
        assert table["8"].isna().tolist() == table["metric"].eq("claim_precision").tolist()
    assert found["8"].max() == 1


def test_scores_that_are_all_alike_have_the_half_width_of_an_evaluation() -> None:
    alike = pd.concat(
        [scores(np.zeros(16), np.ones(16)), scores(np.full(16, 4), np.full(16, 5)).assign(metric="words")]
    )
    planned = half_widths(alike, [16, 50], seed=1, studies=5).set_index("metric")
    for metric, value, bounds in (("claim_recall", 0, (0, 1)), ("words", 4, COUNT)):
        for size in (16, 50):
            _, low, high = mean_interval([value] * size, bounds=bounds)
            assert planned.loc[metric, str(size)].iloc[0] == pytest.approx((high - low) / 2)


@pytest.mark.soak
def test_power_planned_from_small_pilots_promises_no_more_than_studies_find() -> None:
    """From 8 documents each, the former planner promised .95 where studies found .58."""
    rng = np.random.default_rng(2)
    unknown = pd.DataFrame(columns=["system", "stage", "condition", "item", "metric", "unscored"])
    studies = [drawn(rng, 40) for _ in range(80)]
    found = np.mean([compare_systems(one, {}, unknown, ["a", "b"], seed=1)["p"].lt(0.05).item() for one in studies])
    planned = [powers(drawn(rng, 8), [40], seed=s, studies=10)["40"].iloc[0] for s in range(40)]
    assert 0.4 < found < 0.95
    assert np.mean(planned) < found + 0.1
