"""Judges with one defect each over independent errors are flagged for it, and judges with such errors only are not."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tasks.audit.card import LEVEL, invariance_rows
from tasks.audit.cases import CONFIDENT, CROWDED, HIDDEN, LONGER, MANY, SHUFFLED, VARIED

ERRORS, DOCUMENTS = 0.1, 80
LONGEST = max(LONGER, key=lambda name: LONGER[name])
FACTORS = (CONFIDENT, CROWDED, HIDDEN, SHUFFLED, *LONGER, "one claim a call", "claims in reverse", "before", "after")


def verdicts(random: np.random.Generator, defect: Callable[[str, bool, int], float] | None = None) -> pd.DataFrame:
    """Verdicts on `VARIED` cases and their variants; ``defect``: probability of a yes, or of an error if negative."""
    case = np.arange(VARIED)
    truth, document = random.random(VARIED) < 0.5, random.integers(0, DOCUMENTS, VARIED)
    parts = []
    for factor in ("", *FACTORS):
        judged = np.where(random.random(VARIED) < ERRORS, ~truth, truth)
        if defect is not None:
            place = random.integers(0, MANY, VARIED) if factor == CROWDED else case % 5
            pull = np.array([defect(factor, *at) for at in zip(truth.tolist(), place.tolist(), strict=True)])
            hit = random.random(VARIED) < np.abs(pull)
            judged = np.where(hit, np.where(pull > 0, True, ~truth), judged)
        parts.append(
            pd.DataFrame({"factor": factor, "case": case, "truth": truth, "document": document, "judged": judged})
        )
    return pd.concat(parts, ignore_index=True).assign(task="claims", judged=lambda t: t["judged"].astype("boolean"))


def flagged(table: pd.DataFrame, seed: int) -> set[str]:
    rows = pd.DataFrame(invariance_rows(table, seed=seed)).pivot(index="condition", columns="metric", values="value")
    found = rows[(rows["p_value_adjusted"] < LEVEL) & (rows["loss_of_accuracy"] > 0)]
    return {str(name).partition(": ")[2] for name in found.index}


DEFECTS: dict[str, Callable[[str, bool, int], float]] = {
    HIDDEN: lambda factor, _, __: 0.3 if factor == HIDDEN else 0.0,
    CONFIDENT: lambda factor, _, __: 0.3 if factor == CONFIDENT else 0.0,
    LONGEST: lambda factor, _, __: -0.15 if factor == LONGEST else 0.0,
    CROWDED: lambda factor, _, place: -0.6 if factor == CROWDED and place >= 15 else 0.0,
}
"""Each costs some 12 points of right answers: 0.3 x 0.5 x 0.8, 0.15 x 0.8, and 0.6 x 0.25 x 0.8."""


def found_in(runs: int, first: int) -> dict[str, float]:
    shares = {}
    for name, defect in DEFECTS.items():
        shares[name] = np.mean(
            [name in flagged(verdicts(np.random.default_rng(s), defect), s) for s in range(first, first + runs)]
        )
    return {name: float(share) for name, share in shares.items()}


def false_alarms(runs: int, first: int) -> float:
    return float(np.mean([bool(flagged(verdicts(np.random.default_rng(s)), s)) for s in range(first, first + runs)]))


def test_defects_are_flagged_and_independent_errors_are_not() -> None:
    assert min(found_in(6, 0).values()) >= 5 / 6
    assert false_alarms(20, 100) <= 0.15


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_power_and_false_alarms_over_many_seeds() -> None:
    found, alarms = found_in(100, 1000), false_alarms(1000, 5000)
    print(found, f"false alarms {alarms:.3f}")
    assert min(found.values()) >= 0.9 and alarms <= 0.06
