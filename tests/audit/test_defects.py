"""Judges with one defect each over independent errors are flagged for it, and judges with such errors only are not.

A judge errs on the same 10% of cases however it is asked, as a deterministic one does.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import pytest

from tasks.audit.card import EARLIER, card_table, findings
from tasks.audit.cases import (
    AGAIN,
    CONFIDENT,
    CROWDED,
    FACTORS,
    HIDDEN,
    LONGER,
    MANY,
    REVERSED,
    TOGETHER,
    WORDY,
)

ERRORS, DOCUMENTS, TAKES = 0.1, 80, 3
VARIED = 400
LONGEST = max(LONGER, key=lambda name: LONGER[name])
Floats = np.ndarray
Defect = Callable[[str, Floats], Floats]
"""Probability, by factor and place in the call (n,), of a yes, or of an error if negative."""


def verdicts(random: np.random.Generator, defect: Defect | None = None) -> pd.DataFrame:
    """Verdicts on `VARIED` cases, their variants and further takes; texts err alike within a document."""
    case = np.arange(VARIED)
    truth, document = random.random(VARIED) < 0.5, case // TOGETHER % DOCUMENTS
    usual = np.where(random.random(VARIED) < ERRORS, ~truth, truth)
    parts = []
    for factor in ("", *FACTORS, *(f"{AGAIN}, take {take}" for take in range(2, TAKES + 1))):
        place = {REVERSED: TOGETHER - 1 - case % TOGETHER, CROWDED: random.integers(0, MANY, VARIED)}.get(
            factor, case % TOGETHER
        )
        pull = np.zeros(VARIED) if defect is None else defect(factor, place)
        hit = random.random(VARIED) < np.abs(pull)
        judged = np.where(hit, np.where(pull > 0, True, ~usual), usual)
        parts.append(
            pd.DataFrame({"factor": factor, "case": case, "truth": truth, "document": document, "judged": judged})
        )
        parts[-1]["place"] = place
    table = pd.concat(parts, ignore_index=True).assign(judge="j", task="claims", kind="k")
    return table.astype({"judged": "boolean"})


def _only(factor: str, pull: float, asked: str, place: Floats) -> Floats:
    return np.full(len(place), pull if asked == factor else 0.0)


DEFECTS: dict[str, Defect] = {
    HIDDEN[0]: partial(_only, HIDDEN[0], 0.25),
    CONFIDENT: partial(_only, CONFIDENT, 0.25),
    WORDY: partial(_only, WORDY, 0.25),
    LONGEST: partial(_only, LONGEST, -0.125),
    CROWDED: lambda asked, place: np.where((asked == CROWDED) & (place >= 15), -0.5, 0.0),
    EARLIER: lambda asked, place: np.where(place == 0, 0.2, 0.0),
    AGAIN: lambda asked, place: np.full(len(place), -0.1),
}
"""Each costs some 10 points of right answers: 0.25 x 0.5 x 0.8, 0.125 x 0.8, 0.5 x 0.25 x 0.8, and 20 points of yes to
the false claims that come first; the last changes 10% of answers at random."""
SAID = {EARLIER: "stands earlier", AGAIN: "asked again"}


def flagged(name: str, seed: int) -> bool:
    lines = findings(card_table(verdicts(np.random.default_rng(seed), DEFECTS[name]), seed=seed))
    return any(SAID.get(name, name) in line for line in lines)


def found_in(runs: int, first: int) -> dict[str, float]:
    return {name: float(np.mean([flagged(name, seed) for seed in range(first, first + runs)])) for name in DEFECTS}


def false_alarms(runs: int, first: int) -> float:
    """Share of audits with a finding, but that answers change, of a judge that errs on 10% of cases anew each time."""
    anew: Defect = lambda asked, place: np.full(len(place), -ERRORS)  # noqa: E731
    found = []
    for seed in range(first, first + runs):
        lines = findings(card_table(verdicts(np.random.default_rng(seed), anew), seed=seed))
        found.append(any(SAID[AGAIN] not in line for line in lines))
    return float(np.mean(found))


def test_a_judge_that_errs_on_the_same_cases_however_asked_has_no_finding() -> None:
    assert findings(card_table(verdicts(np.random.default_rng(1)), seed=1)) == []


def test_defects_are_flagged_and_independent_errors_are_not() -> None:
    assert min(found_in(4, 0).values()) >= 3 / 4
    assert false_alarms(15, 100) <= 3 / 15


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_power_and_false_alarms_over_many_seeds() -> None:
    found, alarms = found_in(100, 1000), false_alarms(1000, 5000)
    print(found, f"false alarms {alarms:.3f}")
    assert min(found.values()) >= 0.95 and alarms <= 0.06
