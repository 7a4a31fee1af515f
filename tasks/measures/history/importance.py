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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from schemas.errors import NetworkError
from tasks.network.coding import Codes
from tasks.network.filtering import _groups, _Pass  # the only parts that a forecast of several variables needs
from tasks.network.graph import Floats, NetworkDefinition
from tasks.network.transitions import Transitions
from tasks.visits.facts import Fact, Worder, facts_of

COLUMNS = ["patient", "fact", "kind", "importance"]
_AT_ONCE = 64
"""Patients with the same evidence whose forecasts are computed together; more need more memory and are no faster."""
_DECIMALS = 9
"""Differences of probabilities below rounding are 0 on every processor."""


@dataclass(frozen=True)
class _Known:
    """What is known of a patient: the first ``visits`` visits without ``item`` at the visits of ``unknown``."""

    patient: int
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
    by_patient = {int(str(p)): own for p, own in visits.sort_values("visit").groupby("patient", sort=True)}
    for patient, own in by_patient.items():
        history = own.to_dict("records")
        for fact in facts_of(history, network, worder.rules, worder.words):
            seen = visits_of_fact(fact, [int(visit["day"]) for visit in history])
            rows.append((patient, fact.key, fact.kind))
            pairs.append((_Known(patient, seen[-1]), _Known(patient, seen[-1], fact.item, seen)))
    stated = {patient: _stated(own, worder) for patient, own in by_patient.items()}
    wanted = list(dict.fromkeys(known for pair in pairs for known in pair))
    found = dict(zip(wanted, _forecasts(wanted, stated, network, transitions), strict=True))
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
    stated: Mapping[int, pd.DataFrame],
    network: NetworkDefinition,
    transitions: Transitions,
) -> list[Floats]:
    """The joint distribution of the next visit's course for each of ``wanted``, of what ``stated`` says by patient."""
    if not wanted:
        return []
    parts = []
    for number, known in enumerate(wanted):
        part = stated[known.patient].iloc[: known.visits].assign(patient=number)
        if known.item:
            part[known.item] = part[known.item].mask(part["visit"].isin(known.unknown), None)
        parts.append(part)
    return next_visit(network, transitions, pd.concat(parts, ignore_index=True), course_of(network, transitions))


def _stated(own: pd.DataFrame, worder: Worder) -> pd.DataFrame:
    """What the notes of a patient say of each visit; null where they say nothing."""
    conditions, words = list(worder.rules.conditions), worder.words
    shown = own[["patient", "visit", "day", *conditions, *worder.rules.symptoms, *words.treatments, *words.outcomes]]
    shown = shown.astype(dict.fromkeys(shown.columns[3:], object))
    shown[conditions] = shown[conditions].mask(shown["visit"] > 1, None)
    return shown


def course_of(network: NetworkDefinition, transitions: Transitions) -> tuple[str, ...]:
    """The diagnoses and symptoms, but for constant ones."""
    return tuple(n for n in network.of_type("diagnosis", "symptom") if n not in transitions.constant)


def next_visit(
    network: NetworkDefinition, transitions: Transitions, visits: pd.DataFrame, targets: tuple[str, ...]
) -> list[Floats]:
    """P(targets at the visit after the last | the visits of a patient), (cards of ``targets`` ...), by patient.

    ``visits`` as in `tasks.network.filtering.filtered`, in which the targets may be observed. The interval to the next
    visit is unknown. Raises NetworkError for visits of probability zero.
    """
    result: dict[int, Floats] = {}
    for evidence, rows in _groups(network, transitions, visits):
        patients = visits["patient"].to_numpy()[rows[:, 0]]
        for start in range(0, len(patients), _AT_ONCE):
            part = [{name: codes[start : start + _AT_ONCE] for name, codes in at.items()} for at in evidence]
            logs = _next_course(network, transitions, part, targets)
            for patient, own in zip(patients[start : start + _AT_ONCE], logs, strict=True):
                if np.isneginf(own).all():
                    raise NetworkError(f"network {network.name}: patient {patient}: the visits have probability zero")
                result[int(patient)] = np.exp(own - np.logaddexp.reduce(own, axis=None))
    return [result[patient] for patient in sorted(result)]


def _next_course(
    network: NetworkDefinition, transitions: Transitions, evidence: list[Codes], targets: tuple[str, ...]
) -> Floats:
    """log P(targets at the next visit, evidence), (patients, cards of ``targets`` ...)."""
    until, after = (_Pass(network, transitions, at) for at in (evidence, [*evidence, {}]))
    logs = after._eliminated([*after._slice(len(evidence)), until._forward()[-1]], targets)
    return np.broadcast_to(logs, (until.patients, *logs.shape[1:]))


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
    keys = [merged["document"], merged["system"]]
    sums = omitted.groupby(keys).sum().mask(omitted.isna().groupby(keys).any())
    return sums.reset_index(name="value")
