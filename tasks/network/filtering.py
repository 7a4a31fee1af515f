"""Exact posteriors of a patient's states given evidence by visit: filtering, prediction and smoothing.

The passes run over the joint state of what later visits depend on: the constant variables, and the last values of the
carried ones (the interface algorithm; Murphy 2002, Section 3.4). Each step is a variable elimination over one slice
(`tasks.network.inference`), in log space, for all patients with the same number of visits and the same observed
variables at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.errors import NetworkError
from tasks.network.coding import Codes, encode
from tasks.network.graph import Floats, NetworkDefinition
from tasks.network.inference import CHUNK_CELLS, Factor, eliminate, plan, reduced
from tasks.network.transitions import GAP, LAST, Transitions

Ints = npt.NDArray[np.int64]
_HEAD = ("record", "patient", "visit", "day")


def filtered(network: NetworkDefinition, transitions: Transitions, visits: pd.DataFrame, target: str) -> Floats:
    """P(target at a visit | evidence of this visit and those before), shape (rows of ``visits``, values of target).

    ``visits`` has the columns patient and visit (1, 2, ... without gaps), optionally day, and any variables of the
    network, null where they were not observed. Without day, the intervals are unknown. Rows may be in any order.

    Raises NetworkError for a target that is observed or a count, for missing visits, for an interval within no range
    of the transitions, and for evidence that has probability zero.
    """
    return _posterior(network, transitions, visits, target, smooth=False)


def smoothed(network: NetworkDefinition, transitions: Transitions, visits: pd.DataFrame, target: str) -> Floats:
    """P(target at a visit | evidence of all visits of the patient); otherwise as `filtered`."""
    return _posterior(network, transitions, visits, target, smooth=True)


def predicted(
    network: NetworkDefinition, transitions: Transitions, evidence: Sequence[Codes], targets: tuple[str, ...]
) -> Floats:
    """P(targets at the next visit | evidence), shape (patients, cards of ``targets`` ...).

    ``evidence``: for each visit the codes (patients,) of what was observed, and of the interval ``gap`` from the second
    visit on. The targets may be observed; the interval to the next visit is unknown. Raises NetworkError for evidence
    of probability zero.
    """
    until, after = (_Pass(network, transitions, list(at)) for at in (evidence, [*evidence, {}]))
    logs = after._eliminated([*after._slice(len(evidence)), until._forward()[-1]], targets)
    totals = np.logaddexp.reduce(logs.reshape(len(logs), -1), axis=1)
    if np.isneginf(totals).any():
        raise NetworkError(f"network {network.name}: the first {len(evidence)} visits of a patient are impossible")
    found = np.exp(logs - totals.reshape(-1, *[1] * len(targets)))
    return np.broadcast_to(found, (until.patients, *found.shape[1:]))


def _posterior(
    network: NetworkDefinition, transitions: Transitions, visits: pd.DataFrame, target: str, *, smooth: bool
) -> Floats:
    if target in visits and visits[target].notna().any():
        raise NetworkError(f"network {network.name}: {target} is both the target and part of the evidence")
    result = np.empty((len(visits), *network.cards([target])))
    for evidence, rows in _groups(network, transitions, visits.drop(columns=target, errors="ignore")):
        first = [{name: codes[:1] for name, codes in at.items()} for at in evidence]
        step = max(1, CHUNK_CELLS // _Pass(network, transitions, first).largest_product())
        for start in range(0, len(rows), step):
            part = [{name: codes[start : start + step] for name, codes in at.items()} for at in evidence]
            for visit, logs in enumerate(_Pass(network, transitions, part).posteriors(target, smooth=smooth)):
                result[rows[start : start + step, visit]] = _normalised(logs, network, visits, rows[start:, visit])
    return result


def _normalised(logs: Floats, network: NetworkDefinition, visits: pd.DataFrame, rows: Ints) -> Floats:
    totals = np.logaddexp.reduce(logs, axis=1, keepdims=True)
    if np.isneginf(totals).any():
        row = visits.iloc[int(rows[int(np.argmin(totals))])]
        raise NetworkError(
            f"network {network.name}: patient {row['patient']}, visit {row['visit']}: the evidence has probability zero"
        )
    return np.exp(logs - totals)


def _groups(
    network: NetworkDefinition, transitions: Transitions, visits: pd.DataFrame
) -> Iterator[tuple[list[Codes], Ints]]:
    """Patients with the same numbers of visits and observed variables: codes by visit, rows (patients, visits)."""
    names = [str(name) for name in visits.columns if name not in _HEAD]
    order = np.lexsort((visits["visit"].to_numpy(), visits["patient"].to_numpy()))
    patient, visit = (visits[name].to_numpy()[order] for name in ("patient", "visit"))
    starts = np.flatnonzero(np.r_[True, patient[1:] != patient[:-1]]) if len(order) else np.empty(0, dtype=np.int64)
    sizes = np.diff(np.r_[starts, len(order)])
    if (visit != np.arange(len(order)) - np.repeat(starts, sizes) + 1).any():
        raise NetworkError("visits: the visits of each patient must be 1, 2, ... without gaps")
    known = visits[names].notna().to_numpy()[order]
    by_pattern: dict[tuple[int, bytes], list[int]] = {}
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        by_pattern.setdefault((size, known[start : start + size].tobytes()), []).append(start)
    for (size, _), firsts in by_pattern.items():
        rows = order[np.array(firsts)[:, None] + np.arange(size)]
        seen = known[firsts[0] : firsts[0] + size]
        evidence = []
        for i in range(size):
            observed = [name for name, is_known in zip(names, seen[i], strict=True) if is_known]
            counts = {name: "int64" for name in observed if network.is_count(name)}
            evidence.append(encode(network, visits.iloc[rows[:, i]][observed].astype(counts), observed))
        if "day" in visits:
            days = visits["day"].to_numpy()[rows]
            for i in range(1, size):
                evidence[i][GAP] = gaps(transitions, days[:, i] - days[:, i - 1])
        yield evidence, rows


def gaps(transitions: Transitions, days: Ints) -> Ints:
    """Codes of the intervals of so many ``days`` (n,) between visits. Raises NetworkError for one within no range."""
    codes = transitions.gap_codes(days)
    if (codes < 0).any():
        raise NetworkError(f"visits: {days[codes < 0][0]} days between two visits; expected {transitions.days}")
    return codes


@dataclass(frozen=True, eq=False)
class _Pass:
    """Messages between the visits of patients whose ``evidence`` observes the same variables."""

    network: NetworkDefinition
    transitions: Transitions
    evidence: list[Codes]

    def posteriors(self, target: str, *, smooth: bool) -> list[Floats]:
        """log P(target at visit, evidence until then) of each visit, (patients, values of target).

        ``smooth``: with all evidence.
        """
        before = [None, *self._forward()[:-1]]
        after = self._backward() if smooth else [None] * len(self.evidence)
        return [self._joint(visit, target, messages) for visit, messages in enumerate(zip(before, after, strict=True))]

    def _forward(self) -> list[Factor]:
        """By visit, log P(interface after the visit, evidence until then), with the names of the next slice."""
        messages: list[Factor] = []
        for visit in range(len(self.evidence)):
            kept = self._hidden_interface(visit)
            factors = [*self._slice(visit), *messages[-1:]]
            logs = self._eliminated(factors, kept)
            messages.append(Factor(tuple(self._as_last(name) for name in kept), logs))
        return messages

    def _backward(self) -> list[Factor | None]:
        """By visit, log P(later evidence | interface after the visit), with the names of the visit itself."""
        messages: list[Factor | None] = [None]
        for visit in range(len(self.evidence) - 1, 0, -1):
            kept = self._hidden_interface(visit - 1)
            factors = [*self._slice(visit), *(message for message in messages[:1] if message)]
            logs = self._eliminated(factors, tuple(self._as_last(name) for name in kept))
            messages.insert(0, Factor(kept, logs))
        return messages

    def _joint(self, visit: int, target: str, messages: Sequence[Factor | None]) -> Floats:
        factors = [*self._slice(visit, target), *(message for message in messages if message)]
        logs = self._eliminated(factors, (target,))
        return np.broadcast_to(logs, (self.patients, logs.shape[1]))

    def _eliminated(self, factors: Sequence[Factor], kept: tuple[str, ...]) -> Floats:
        """Sum out all but ``kept``. A kept variable that no factor mentions gets an axis of its size."""
        named = {name for factor in factors for name in factor.axes}
        blank = [Factor((name,), np.zeros((1, self._card(name)))) for name in kept if name not in named]
        hidden = [name for name in sorted(named) if name not in kept]
        return eliminate([*factors, *blank], hidden, kept)

    def _slice(self, visit: int, target: str | None = None) -> list[Factor]:
        """The factors of one visit, with the observed values of this visit and the last one fixed.

        Unobserved counts, which have no children, sum to 1 and are left out.
        """
        codes = {**self.evidence[visit], **self._known}
        if visit == 0:
            names, network = list(self.network.order), self.network
        else:
            names, network = list(self.transitions.drawn), self.transitions.slice
            codes |= {LAST + name: values for name, values in self.evidence[visit - 1].items()}
        wanted = [name for name in names if name in codes or name == target or not self._is_unbounded(name)]
        factors = [reduced(network, name, self._fixed(codes)) for name in wanted]
        return factors if visit == 0 else [*factors, *self._constants(visit)]

    def _fixed(self, codes: Codes) -> Codes:
        """The codes without constant variables that were observed later than at the first visit."""
        return {n: values for n, values in codes.items() if n not in self.transitions.constant or n in self._known}

    def _constants(self, visit: int) -> list[Factor]:
        """For each constant variable observed at a later visit, log P(observed value | value)."""
        factors = []
        for name in self.transitions.constant:
            if name in self.evidence[visit]:
                seen = self.evidence[visit][name]
                same = (
                    seen == self._known[name] if name in self._known else seen[:, None] == np.arange(self._card(name))
                )
                factors.append(Factor(() if name in self._known else (name,), np.where(same, 0.0, -np.inf)))
        return factors

    @cached_property
    def _known(self) -> Codes:
        """The constant variables that are observed at the first visit."""
        return {name: self.evidence[0][name] for name in self.transitions.constant if name in self.evidence[0]}

    def _hidden_interface(self, visit: int) -> tuple[str, ...]:
        constant = [name for name in self.transitions.constant if name not in self._known]
        return (*constant, *(name for name in self.transitions.carried if name not in self.evidence[visit]))

    def _as_last(self, name: str) -> str:
        return name if name in self.transitions.constant else LAST + name

    def _card(self, name: str) -> int:
        if name == GAP:
            return len(self.transitions.days)
        return self.network.cards([name.removeprefix(LAST)])[0]

    def _is_unbounded(self, name: str) -> bool:
        return name != GAP and self.network.is_unbounded(name)

    @property
    def patients(self) -> int:
        """Number of patients; 1 without any evidence, which is the same for all."""
        return max((len(codes) for at in self.evidence for codes in at.values()), default=1)

    def largest_product(self) -> int:
        """Number of cells, for one patient, of the largest factor of a pass."""
        largest = 1
        for visit in range(len(self.evidence)):
            scopes = [factor.axes for factor in self._slice(visit)] + [self._hidden_interface(visit)]
            if visit:
                scopes.append(tuple(map(self._as_last, self._hidden_interface(visit - 1))))
            cards = {name: self._card(name) for scope in scopes for name in scope}
            products = [product for _, product in plan(scopes, sorted(cards), cards)]
            largest = max([largest, *(prod(cards[name] for name in product) for product in products)])
        return largest
