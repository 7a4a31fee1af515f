"""All systems together: their provenance, test records without a prediction, and comparisons between models.

Pairs of models are compared on the same test records by approximate randomisation (Noreen 1989; Yeh 2000). P-values are
adjusted for all comparisons of a table by step-down maxT over the same swaps (Westfall and Young 1993, Algorithm 4.1);
their smallest value does not grow with the number of comparisons, as that of Holm's adjustment does. Further
comparisons: a model on regenerated against first notes, as regeneration selects (a note is rewritten until it passes);
and neural-text with each deviation of SimSUM's released code, alone and all together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np
import pandas as pd

from schemas.params.learning import Baselines, TextDeviation
from schemas.tables.columns import NOTE_VERSIONS, typed
from schemas.tables.evidence import EVIDENCE_SETTINGS
from schemas.tables.metrics import UNSCORED
from tasks.baselines import bn_tab, bn_text, neural_text, xgboost_tab
from tasks.baselines.note_vectors import NoteVectors
from tasks.baselines.scoring import STAGE, Resampling, Scored, Sums, models_in
from tasks.baselines.targets import Flags, Floats, Parts, Target, decide, lacking
from tasks.statistics.bootstrap import percentile_interval
from tasks.statistics.metric_rows import COMPUTED, Row, metric_row, metric_table

TABULAR = (bn_tab.SYSTEM, xgboost_tab.SYSTEM)
TEXTUAL = (neural_text.TEXT, neural_text.TEXT_TAB, bn_text.SYSTEM, bn_text.CALIBRATED)
SHUFFLE_STREAM = 44

Name = tuple[str, str]
"""System and condition."""


def provenance_by_system(notes: Sequence[str], encoder: str) -> dict[str, str]:
    """Provenance of each system's numbers: writers of the notes and encoder; no model for the tabular systems."""
    text = f"notes: {', '.join(sorted(set(notes)))}; encoder: {encoder}"
    return {**dict.fromkeys(TABULAR, COMPUTED), **dict.fromkeys(TEXTUAL, text)}


def missing_rows(test_records: Sequence[int], noted: set[int]) -> pd.DataFrame:
    """UNSCORED rows of test records that are not ``noted``, for which the text models have no prediction."""
    missing = [str(record) for record in sorted(set(test_records) - noted)]
    frame = pd.DataFrame({"record": missing, "step": "embed", "reason": "no note in some version", "detail": None})
    return frame.astype("str")


def unfitted(parts: Parts, noted: Parts, params: Baselines) -> dict[tuple[str, str], str]:
    """Why a predictor was not fitted, by system and symptom. ``noted``: the parts without records that lack a note."""
    text = neural_text.cannot_fit(noted)
    of_text = bn_text.cannot_fit(noted, params)
    reasons = {
        bn_tab.SYSTEM: lacking(parts),
        xgboost_tab.SYSTEM: xgboost_tab.cannot_fit(parts, params),
        neural_text.TEXT: text,
        neural_text.TEXT_TAB: text,
        bn_text.SYSTEM: of_text,
        bn_text.CALIBRATED: of_text,
    }
    return {(system, symptom): reason for system, by in reasons.items() for symptom, reason in by.items()}


def unfitted_tables(reasons: Mapping[tuple[str, str], str], train: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`unfitted` predictors as UNSCORED rows, which count as no failures, and as METRICS rows without a value."""
    unscored = [
        {"record": "all", "step": "fit", "reason": reason, "detail": f"{system}: {symptom}"}
        for (system, symptom), reason in reasons.items()
    ]
    rows = [
        metric_row("not_fitted", float("nan"), n=train, system=system, condition=reason, item=symptom)
        for (system, symptom), reason in reasons.items()
    ]
    return typed(unscored, UNSCORED), metric_table(rows, stage=STAGE, provenance=COMPUTED)


def compared_pairs() -> list[tuple[Name, Name]]:
    """BN-text against calibrated neural-text and, in the same evidence setting, neural-text-tab; each note version."""
    pairs = []
    for version in NOTE_VERSIONS:
        for setting in EVIDENCE_SETTINGS:
            ours = (bn_text.SYSTEM, f"{version}/{setting}")
            pairs.append((ours, (bn_text.CALIBRATED, f"{version}/{neural_text.MEAN}")))
            pairs.append((ours, (neural_text.TEXT_TAB, f"{version}/{setting}")))
    return pairs


@dataclass(frozen=True)
class Compared:
    """Difference in F1 of two models, each its mean over seeds, with its bootstrap interval.

    ``swapped`` (draws,): the difference after random swaps of the models' predictions, record by record; all seeds of a
    record are swapped together.
    """

    difference: float
    low: float
    high: float
    swapped: Floats

    @property
    def p(self) -> float:
        """Share of swaps that give at least as large a difference."""
        return float(adjusted_p(np.array([self.difference]), self.swapped[None])[0])


def compare(ours: Scored, other: Scored, resampling: Resampling) -> Compared:
    """``ours`` minus ``other``. Comparisons on the same number of records share their swaps."""
    n, draws = len(ours.labels), resampling.draws
    keep = np.random.default_rng([resampling.seed, SHUFFLE_STREAM]).integers(0, 2, size=(draws, n)).astype(float)
    counts = np.ones((1, n)), resampling.counts(n), keep, 1 - keep
    whole, drawn, kept, taken = zip(*(model.sums(resampling.bins, *counts) for model in (ours, other)), strict=True)
    observed, spread = (ours.metric("f1", first) - ours.metric("f1", second) for first, second in (whole, drawn))
    swapped = ours.metric("f1", _mixed(kept[0], taken[1])) - ours.metric("f1", _mixed(kept[1], taken[0]))
    return Compared(float(observed[0]), *percentile_interval(spread), swapped)


def _mixed(kept: Sequence[Sums], taken: Sequence[Sums]) -> list[Sums]:
    """Sums by seed over records of both models; the shorter list of seeds is repeated."""
    seeds = range(max(len(kept), len(taken)))
    pairs = [(kept[seed % len(kept)], taken[seed % len(taken)]) for seed in seeds]
    return [{name: first[name] + second[name] for name in first} for first, second in pairs]


_TIE = 1e-9


def adjusted_p(observed: Floats, swapped: Floats) -> Floats:
    """Family-wise p-values (m,) of differences (m,) and their swapped values (m, draws), by step-down maxT.

    Differences are divided by the standard deviation of their swaps, which puts symptoms with many and with few cases
    on one scale. One that no swap changes has p 1.
    """
    draws = swapped.shape[1]
    scale = np.sqrt((swapped**2).sum(axis=1) / max(draws, 1))
    sizes, peers = (
        np.divide(np.abs(d), s, out=np.zeros_like(d), where=s > 0)
        for d, s in ((observed, scale), (swapped, np.broadcast_to(scale[:, None], swapped.shape)))
    )
    order = np.argsort(-sizes, kind="stable")
    largest = np.maximum.accumulate(peers[order][::-1], axis=0)[::-1]  # over this difference and all smaller ones
    exceeded = (largest >= sizes[order][:, None] - _TIE).sum(axis=1)
    p = np.empty(len(observed))
    p[order] = np.maximum.accumulate((1 + exceeded) / (1 + draws))
    return p


def paired_rows(
    predictions: pd.DataFrame,
    pairs: Sequence[tuple[Name, Name]],
    targets: Sequence[Target],
    resampling: Resampling,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows of the comparisons ``pairs`` for each symptom.

    Metrics: ``f1_difference`` with its interval, ``p_value``, and ``p_value_adjusted`` for all comparisons.
    """
    models = {(m.system, m.condition, m.target.symptom): m for m in models_in(predictions, targets)}
    found: list[tuple[Row, Compared]] = []
    for (ours, other), target in product(pairs, targets):
        model, peer = models.get((*ours, target.symptom)), models.get((*other, target.symptom))
        if model and peer:
            condition = f"{ours[1]} against {' '.join(other)}"
            keys: Row = {"system": ours[0], "condition": condition, "item": target.symptom, "n": len(model.labels)}
            found.append((keys, compare(model, peer, resampling)))
    results = [result for _, result in found]
    swapped = np.array([result.swapped for result in results]).reshape(len(found), resampling.draws)
    adjusted = adjusted_p(np.array([result.difference for result in results]), swapped)
    rows = []
    for (keys, result), p in zip(found, adjusted.tolist(), strict=True):
        rows.append(metric_row("f1_difference", result.difference, result.low, result.high, **keys))
        rows.append(metric_row("p_value", result.p, **keys))
        rows.append(metric_row("p_value_adjusted", p, **keys))
    return metric_table(rows, stage=STAGE, seed=f"bootstrap {resampling.seed}", provenance=provenance)


def regenerated_rows(
    predictions: pd.DataFrame,
    attempts: Mapping[int, int],
    targets: Sequence[Target],
    resampling: Resampling,
    provenance: Mapping[str, str],
) -> pd.DataFrame:
    """METRICS rows of every model in ``predictions``: the share on first and on regenerated notes, and the difference.

    The share is that of test records whose value is predicted correctly (the mean over seeds). ``attempts`` maps a
    record to the attempt that produced its note, 0 for a first note. A model whose test records have only first or only
    regenerated notes gets no rows.
    """
    rows: list[Row] = []
    for model in models_in(predictions, targets):
        new = np.array([attempts[int(record)] > 0 for record in model.records])
        if new.any() and not new.all():
            keys = {"system": model.system, "condition": model.condition, "item": model.target.symptom}
            shares = _shares(model, new, resampling)
            rows += [{**row, **keys, "provenance": provenance[model.system]} for row in shares]
    return metric_table(rows, stage=STAGE, seed=f"bootstrap {resampling.seed}")


def _shares(model: Scored, new: Flags, resampling: Resampling) -> list[Row]:
    right: Floats = np.mean([decide(probabilities) == model.labels for probabilities in model.probabilities], axis=0)
    counts = np.vstack([np.ones((1, len(new))), resampling.counts(len(new))])
    with np.errstate(invalid="ignore"):
        first, regenerated = ((counts @ (right * of)) / (counts @ of) for of in ((~new) * 1.0, new * 1.0))
    parts = {
        "share_right_first_notes": (first, int((~new).sum())),
        "share_right_regenerated_notes": (regenerated, int(new.sum())),
        "share_right_regenerated_minus_first": (regenerated - first, len(new)),
    }
    return [metric_row(name, v[0], *percentile_interval(v[1:]), n=n) for name, (v, n) in parts.items()]


VARIANTS: dict[str, tuple[TextDeviation, ...]] = {
    **{f"neural-text, {name}": (name,) for name in get_args(TextDeviation)},
    "neural-text as released": get_args(TextDeviation),
}
"""System -> its deviations of SimSUM's released code."""


def effect_rows(
    parts: Parts, vectors: NoteVectors, params: Baselines, resampling: Resampling, provenance: str
) -> pd.DataFrame:
    """METRICS rows of each variant's F1 minus that of neural-text, by condition and symptom, with the first seed."""
    tables = []
    for system, deviations in {neural_text.TEXT: (), **VARIANTS}.items():
        neural = params.neural.model_copy(update={"as_released": list(deviations)})
        changed = params.model_copy(update={"seeds": params.seeds[:1], "neural": neural})
        tables.append(neural_text.predict(parts, vectors, changed, system=system))
    conditions = tables[0]["condition"].unique()
    pairs = [((system, condition), (neural_text.TEXT, condition)) for system in VARIANTS for condition in conditions]
    return paired_rows(pd.concat(tables, ignore_index=True), pairs, parts.targets, resampling, provenance)
