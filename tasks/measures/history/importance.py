"""Importance of a fact of a record over time: how far the posterior of the later course shifts when it is unknown.

MED-OMIT weights an omitted fact by a judge's opinion of it (1, 0.5 or 0.1). Where patients come from a network over
time, the weight can be computed: the total variation distance between the distributions of the diagnoses and symptoms
of the next visit given the record up to the fact's last visit, with and without the fact. The distribution is the
joint one of all diagnoses and symptoms, the interval to the next visit is unknown, and both are exact
(`tasks.network.filtering`).

Total variation rather than relative entropy: it lies between 0 and 1, as the weights it is compared with, and stays
finite where a fact rules a value out. It is the largest change of the probability of any event of the next visit. The
visits after that one depend on the fact through the same state, so that the distance for the whole later course is at
least as large.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tasks.network.coding import Codes, encode
from tasks.network.filtering import gaps, predicted
from tasks.network.graph import Floats, NetworkDefinition
from tasks.network.transitions import GAP, Transitions
from tasks.visits.facts import Fact, Worder, facts_of

COLUMNS = ["patient", "fact", "kind", "importance"]
_AT_ONCE = 64
"""Patients with the same evidence whose forecasts are computed together; more need more memory and are no faster."""
_DECIMALS = 9
"""Differences of probabilities below rounding are 0 on every processor."""


@dataclass(frozen=True)
class _Known:
    """What is known of a patient: the first ``visits`` visits, but not ``item`` at the visits numbered ``unknown``.

    ``row``: of the patient's first visit in the table of visits, sorted by patient and visit.
    """

    row: int
    visits: int
    item: str = ""
    unknown: tuple[int, ...] = ()


def fact_importances(
    visits: pd.DataFrame, worder: Worder, network: NetworkDefinition, transitions: Transitions
) -> pd.DataFrame:
    """`COLUMNS` of the facts of all patients of the table of visits, 0-1, in the order of HISTORY_FACTS.

    Known are the facts of the record and the absence of symptoms, treatments and conditions, as in the notes: the
    conditions at the first visit, and symptoms, treatments, outcomes and days at each. An unknown fact leaves its
    variable unknown at the visits of the fact, also where another fact states it.
    """
    rows, pairs = [], []
    ordered = visits.sort_values(["patient", "visit"], ignore_index=True)
    for patient, own in ordered.groupby("patient", sort=True):
        history = own.to_dict("records")
        for fact in facts_of(history, network, worder.rules, worder.words):
            seen = visits_of_fact(fact, [int(visit["day"]) for visit in history])
            rows.append((int(str(patient)), fact.key, fact.kind))
            whole = _Known(int(own.index[0]), seen[-1])
            pairs.append((whole, replace(whole, item=fact.item, unknown=seen)))
    found = _forecasts([known for pair in pairs for known in pair], ordered, worder, network, transitions)
    shifts = [float(np.abs(found[known] - found[without]).sum() / 2) for known, without in pairs]
    return pd.DataFrame(rows, columns=COLUMNS[:3]).assign(importance=np.round(shifts, _DECIMALS))


def visits_of_fact(fact: Fact, days: Sequence[int]) -> tuple[int, ...]:
    """Numbers of the visits whose record states the fact; an episode has those that it lasts, and that of its end."""
    last = fact.start
    if fact.kind == "episode":
        last = max(days) if fact.end is None else fact.end
    return tuple(number for number, day in enumerate(days, start=1) if fact.start <= day <= last)


def _forecasts(
    wanted: Sequence[_Known],
    visits: pd.DataFrame,
    worder: Worder,
    network: NetworkDefinition,
    transitions: Transitions,
) -> dict[_Known, Floats]:
    """The joint distribution of the next visit's course for each of ``wanted``; ``visits`` sorted, with a plain index.

    Patients of whom the same variables of the same visits are known are computed together.
    """
    groups: dict[tuple[int, str, tuple[int, ...]], list[int]] = {}
    for known in dict.fromkeys(wanted):
        groups.setdefault((known.visits, known.item, known.unknown), []).append(known.row)
    stated = _stated(visits, worder, network, transitions)
    targets, found = course_of(network, transitions), dict[_Known, Floats]()
    for (size, item, unknown), firsts in groups.items():
        for start in range(0, len(firsts), _AT_ONCE):
            rows = np.array(firsts[start : start + _AT_ONCE])
            evidence = [
                {
                    name: codes[rows + at]
                    for name, codes in (stated.first if at == 0 else stated.later).items()
                    if not (name == item and at + 1 in unknown)
                }
                for at in range(size)
            ]
            for row, course in zip(rows.tolist(), predicted(network, transitions, evidence, targets), strict=True):
                found[_Known(row, size, item, unknown)] = course
    return found


@dataclass(frozen=True)
class _Stated:
    """Codes by variable of what the notes say of a patient's first visit and of later ones, (rows of visits,)."""

    first: Codes
    later: Codes


def _stated(visits: pd.DataFrame, worder: Worder, network: NetworkDefinition, transitions: Transitions) -> _Stated:
    """Codes of the whole table of visits. Raises NetworkError for an interval within no range of the transitions."""
    later = [*worder.rules.symptoms, *worder.words.treatments, *worder.words.outcomes]
    codes = encode(network, visits, [*worder.rules.conditions, *later])
    later_rows = np.flatnonzero(visits["visit"].to_numpy() > 1)
    between = np.full(len(visits), -1, dtype=np.int64)
    between[later_rows] = gaps(transitions, np.diff(visits["day"].to_numpy(), prepend=0)[later_rows])
    return _Stated(codes, {name: codes[name] for name in later} | {GAP: between})


def course_of(network: NetworkDefinition, transitions: Transitions) -> tuple[str, ...]:
    """The diagnoses and symptoms, but for constant ones."""
    return tuple(n for n in network.of_type("diagnosis", "symptom") if n not in transitions.constant)


def omitted_weight(recalled: pd.DataFrame, facts: pd.DataFrame, importances: pd.DataFrame) -> pd.DataFrame:
    """Columns document, system, value: the summed importance of the record's facts that each summary does not state.

    ``recalled`` (CLAIMS of metric claim_recall): whether the fact at a position of a patient's HISTORY_FACTS is stated.
    The value is nan where a fact has no judgement.
    """
    placed = facts.assign(document=facts["patient"].astype("str"), position=facts.groupby("patient").cumcount())
    weights = placed.merge(importances[["patient", "fact", "importance"]], on=["patient", "fact"], validate="1:1")
    judged = recalled[recalled["metric"] == "claim_recall"]
    merged = judged.merge(weights[["document", "position", "importance"]], on=["document", "position"], validate="m:1")
    omitted = merged["importance"].where(merged["judged"].eq(False).fillna(False), 0.0).mask(merged["judged"].isna())
    sums = omitted.groupby([merged["document"], merged["system"]]).sum(skipna=False)
    return sums.reset_index(name="value")
