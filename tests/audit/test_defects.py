"""Judges with one defect each over independent errors are flagged for it, and a judge with such errors only is not.

A judge errs on 10% of the cases of a card of default size, on the same ones however it is asked, as a deterministic one
does, and its defect changes some of its answers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

from flows.evaluation.audit import CLAIMS, make_audit
from flows.repository.params import load_params
from schemas.tables.verdicts import verdict_table
from tasks.audit.card import (
    EARLIER,
    FIRST,
    UNSTEADY,
    card_table,
    findings,
    invariance_rows,
    kind_rows,
    repeatability_rows,
    weak_kinds,
)
from tasks.audit.cases import AGAIN, CONFIDENT, CROWDED, FAMILY, FILLER, HIDDEN, LONGER, NAMES, WORDY
from tasks.audit.comparisons import KIND_LEVEL
from tasks.audit.errors import VERSION
from tasks.statistics.metric_rows import metric_row, metric_table
from tasks.statistics.sign_flips import LEVEL

pytestmark = pytest.mark.soak

ERRORS, TAKES, TEXTS = 0.1, 3, 319
LONGEST = max(LONGER, key=lambda name: LONGER[name])
CARELESS_AFTER = 15
NEGATION = "negation changed"


@dataclass(frozen=True)
class Asked:
    """What was asked, case by case: ``number`` of the case, and its factor, kind, place in the call, task and truth."""

    rows: pd.DataFrame
    number: np.ndarray
    factor: np.ndarray
    kind: np.ndarray
    place: np.ndarray
    task: np.ndarray
    truth: np.ndarray


Defect = Callable[[Asked], np.ndarray]
"""The probability that a case is answered yes, or, if negative, that the usual answer is turned round (n,)."""


@cache
def asked() -> Asked:
    """All that a judge is asked on a card of default size: claims, variants, further takes, and pairs of versions."""
    cases = make_audit(None, load_params().model_copy(update={"seed": 1}), cases=CLAIMS, tasks=["claims"]).cases
    cases = cases.assign(item=cases.groupby("call", sort=False).cumcount())
    cases = cases[cases["metric"] != FILLER]
    plain = cases["condition"] == ""
    varied = cases[plain & cases["unit"].isin(cases.loc[~plain, "unit"])]
    again = [varied.assign(condition=f"{AGAIN}, take {take}") for take in range(2, TAKES + 1)]
    both = {"metric": VERSION, "kind": "diagnosis", "condition": "", "item": 0, "text": "", "system": "planted"}
    versions = [
        {**both, "unit": f"v{text}{first}", "document": f"v{text}", "truth": float(first)}
        for text in range(TEXTS)
        for first in (True, False)
    ]
    rows = pd.concat([cases, *again, pd.DataFrame(versions)], ignore_index=True)
    arrays = [rows[name].to_numpy() for name in ("condition", "kind", "item", "metric")]
    rows = verdict_table(rows.assign(item=rows["item"].astype(str), value=0.0).to_dict("records"), judge="j")
    return Asked(rows, pd.factorize(rows["unit"])[0], *arrays, rows["truth"].to_numpy(dtype=bool))


def verdicts(seed: int, defect: Defect | None = None, *, anew: bool = False) -> pd.DataFrame:
    """The judge's verdicts; with ``anew`` it errs on other cases each time that it is asked."""
    one, random = asked(), np.random.default_rng(seed)
    errs = (
        random.random(len(one.number)) < ERRORS if anew else (random.random(one.number.max() + 1) < ERRORS)[one.number]
    )
    usual = one.truth ^ errs
    pull = np.zeros(len(usual)) if defect is None else defect(one)
    hit = random.random(len(usual)) < np.abs(pull)
    judged = np.where(hit, np.where(pull > 0, True, ~usual), usual)
    return one.rows.assign(value=judged.astype(float))


def _only(factor: str, pull: float, one: Asked) -> np.ndarray:
    return np.where(one.factor == factor, pull, 0.0)


DEFECTS: dict[str, Defect] = {
    HIDDEN[0]: partial(_only, HIDDEN[0], 0.22),
    CONFIDENT: partial(_only, CONFIDENT, 0.22),
    WORDY: partial(_only, WORDY, 0.22),
    FAMILY[0]: partial(_only, FAMILY[0], 0.22),
    NAMES[0]: partial(_only, NAMES[0], -0.125),
    LONGEST: partial(_only, LONGEST, -0.125),
    CROWDED: lambda one: np.where((one.factor == CROWDED) & (one.place >= CARELESS_AFTER), -0.5, 0.0),
    EARLIER: lambda one: np.where((one.task == "claims") & (one.place == 0), 0.22, 0.0),
    FIRST: lambda one: np.where(one.task == VERSION, 0.2, 0.0),
    NEGATION: lambda one: np.where(one.kind == NEGATION, 0.5, 0.0),
    AGAIN: lambda one: np.full(len(one.number), -0.1),
}
"""An instruction obeyed, a label or length believed, its own family favoured, a patient's name or a long text spoilt,
half of the answers after the fifteenth claim, what comes first preferred, half of the negations missed, a tenth of all
answers turned round at random. Each costs some 10 points of the right answers to the cases that it touches: 0.22 x 0.5
x 0.9, 0.125 x 0.8, 0.5 x 0.25 x 0.8; half of the negations are 45 points of 36 cases, 1.6 of all false claims."""
SAID = {EARLIER: "stands earlier", FIRST: "shown first", AGAIN: "asked again"}


def lines_of(table: pd.DataFrame) -> list[str]:
    """The findings of a card, made of those of its rows from which they follow."""
    about: dict[str, str] = {"system": "j", "provenance": "judge: j"}
    cases = table[table["condition"] == ""]
    rows = [*repeatability_rows(table, **about), *invariance_rows(table, **about), *kind_rows(cases, **about)]
    right = cases["value"].eq(cases["truth"]).groupby([cases["metric"], cases["kind"]])
    for (task, kind), own in right:
        rows.append(metric_row("judged_rightly", float(own.mean()), n=len(own), condition=task, item=kind, **about))
    card = metric_table(rows, stage="audit")
    return [*findings(card), *weak_kinds(card)]


def flagged(name: str, seed: int) -> bool:
    return any(SAID.get(name, name) in line for line in lines_of(verdicts(seed, DEFECTS[name])))


def found_in(runs: int, first: int) -> dict[str, float]:
    return {name: float(np.mean([flagged(name, seed) for seed in range(first, first + runs)])) for name in DEFECTS}


def false_alarms(runs: int, first: int, *, anew: bool) -> float:
    """Share of audits with a finding, but that answers change, of a judge with independent errors only."""
    found = [lines_of(verdicts(seed, anew=anew)) for seed in range(first, first + runs)]
    return float(np.mean([any(SAID[AGAIN] not in line for line in lines) for lines in found]))


def test_these_findings_are_those_of_the_whole_card() -> None:
    table = verdicts(1, DEFECTS[NEGATION])
    card = card_table(table, seed=1)
    assert lines_of(table) == [*findings(card), *weak_kinds(card)] != []


def test_defects_are_flagged_and_independent_errors_are_not() -> None:
    assert round(LEVEL + KIND_LEVEL, 9) <= 0.06 and UNSTEADY < ERRORS
    assert min(found_in(1, 0).values()) == 1
    assert false_alarms(2, 100, anew=True) + false_alarms(2, 100, anew=False) <= 1 / 2


@pytest.mark.timeout(7200)
def test_power_and_false_alarms_over_many_seeds() -> None:
    found = found_in(100, 1000)
    same, anew = false_alarms(200, 5000, anew=False), false_alarms(1000, 6000, anew=True)
    print(found, f"false alarms {same:.3f} (the same errors), {anew:.3f} (errors anew)")
    assert min(found.values()) >= 0.95 and max(same, anew) <= 0.06
