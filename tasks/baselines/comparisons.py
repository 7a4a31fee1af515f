"""All systems together: their provenance, test records without a prediction, and comparisons between models.

Pairs of models are compared on the same test records by approximate randomisation (Noreen 1989; Yeh 2000). P-values are
adjusted for all comparisons of a table by step-down maxT over the same swaps. Further comparisons: a model on
regenerated against first notes, as regeneration selects (a note is rewritten until it passes); and neural-text with
each deviation of SimSUM's released code, alone and all together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np
import pandas as pd

from schemas.params.learning import Baselines, TextDeviation
from schemas.tables.columns import NOTE_VERSIONS, typed
from schemas.tables.metrics import UNSCORED
from tasks.baselines import bn_tab, bn_text, neural_text, xgboost_tab
from tasks.baselines.note_vectors import NoteVectors
from tasks.baselines.scoring import STAGE, Scored, influence_of, models_in, ratio
from tasks.baselines.targets import Flags, Floats, Parts, Target, decide, lacking
from tasks.network.graph import EVIDENCE_SETTINGS
from tasks.statistics.agreement import SIGNED
from tasks.statistics.intervals import Interval, linearised_interval, mean_interval
from tasks.statistics.metric_rows import COMPUTED, Row, metric_row, metric_table
from tasks.statistics.sign_flips import step_down

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


def text_pairs() -> list[tuple[Name, Name]]:
    """What SimSUM compares in its Tables 5 and 6: tables added to text, parts of the note, and note versions.

    A family of tests apart from `compared_pairs`.
    """
    text = neural_text.TEXT
    pairs = [((text, f"normal/{neural_text.MEAN}"), (text, f"compact/{neural_text.MEAN}"))]
    for version in NOTE_VERSIONS:
        mean, concat, hist, phys = (
            (text, f"{version}/{part}") for part in (neural_text.MEAN, "concat", "hist", "phys")
        )
        pairs += [((neural_text.TEXT_TAB, f"{version}/all"), mean), (mean, concat), (mean, hist), (hist, phys)]
    return pairs


@dataclass(frozen=True)
class Swaps:
    """Random swaps of two models' predictions; comparisons on the same number of records share theirs."""

    seed: int
    draws: int

    def kept(self, n: int) -> Floats:
        """1 for a record whose predictions stay, 0 for one whose are swapped, (draws, n)."""
        random = np.random.default_rng([self.seed, SHUFFLE_STREAM])
        return random.integers(0, 2, size=(self.draws, n)).astype(float)


def compare(ours: Scored, other: Scored, swaps: Swaps) -> tuple[Interval, Floats]:
    """F1 of ``ours`` minus ``other``, each its mean over seeds, with its interval over test records, and after swaps.

    The difference (draws,) after random swaps of the models' predictions, record by record; all seeds of a record are
    swapped together.
    """
    seeds = max(len(ours.seeds), len(other.seeds))
    (part, whole), (peer_part, peer_whole) = (_terms_of_seeds(model, seeds) for model in (ours, other))
    f1, peer_f1 = ratio(part.sum(axis=0), whole.sum(axis=0)), ratio(peer_part.sum(axis=0), peer_whole.sum(axis=0))
    influence = influence_of(part, whole, f1) - influence_of(peer_part, peer_whole, peer_f1)
    keep = swaps.kept(len(ours.labels))
    swapped_part, swapped_whole = keep @ (part - peer_part), keep @ (whole - peer_whole)
    first = ratio(swapped_part + peer_part.sum(axis=0), swapped_whole + peer_whole.sum(axis=0))
    second = ratio(part.sum(axis=0) - swapped_part, whole.sum(axis=0) - swapped_whole)
    difference = float((f1 - peer_f1).mean())
    ends = linearised_interval(difference, influence, bounds=SIGNED)
    return (difference, *ends), (first - second).mean(axis=1)


def _terms_of_seeds(model: Scored, seeds: int) -> tuple[Floats, Floats]:
    """Terms of F1 for so many seeds; those of fewer are repeated."""
    own = len(model.seeds)
    chosen, n = np.arange(seeds) % own, len(model.labels)
    part, whole = (term.reshape(n, own, -1)[:, chosen].reshape(n, -1) for term in model.terms("f1"))
    return part, whole


def adjusted_p(observed: Floats, swapped: Floats) -> Floats:
    """Family-wise p-values (m,) of differences (m,) and their swapped values (m, draws), by step-down maxT.

    Differences are divided by the standard deviation of their swaps, which puts symptoms with many and with few cases
    on one scale. One that no swap changes has p 1.
    """
    scale = np.sqrt((swapped**2).sum(axis=1) / max(swapped.shape[1], 1))
    per = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return step_down(np.abs(observed) * per, [(np.abs(swapped) * per[:, None]).T])


def paired_rows(
    predictions: pd.DataFrame,
    pairs: Sequence[tuple[Name, Name]],
    targets: Sequence[Target],
    swaps: Swaps,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows of the comparisons ``pairs`` for each symptom.

    Metrics: ``f1_difference`` with its interval, ``p_value``, and ``p_value_adjusted`` for all comparisons.
    """
    models = {(m.system, m.condition, m.target.symptom): m for m in models_in(predictions, targets)}
    found: list[tuple[Row, Interval, Floats]] = []
    for (ours, other), target in product(pairs, targets):
        model, peer = models.get((*ours, target.symptom)), models.get((*other, target.symptom))
        if model and peer:
            condition = f"{ours[1]} against {' '.join(other)}"
            keys: Row = {"system": ours[0], "condition": condition, "item": target.symptom, "n": len(model.labels)}
            found.append((keys, *compare(model, peer, swaps)))
    differences = np.array([interval[0] for _, interval, _ in found])
    adjusted = adjusted_p(differences, np.array([drawn for *_, drawn in found]).reshape(len(found), swaps.draws))
    rows = []
    for (keys, interval, drawn), p in zip(found, adjusted.tolist(), strict=True):
        alone = float(adjusted_p(np.array(interval[:1]), drawn[None])[0])
        rows.append(metric_row("f1_difference", *interval, **keys))
        rows += [metric_row(name, one, **keys) for name, one in (("p_value", alone), ("p_value_adjusted", p))]
    return metric_table(rows, stage=STAGE, seed=f"swaps {swaps.seed}", provenance=provenance)


def regenerated_rows(
    predictions: pd.DataFrame,
    attempts: Mapping[int, int],
    targets: Sequence[Target],
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
            shares = _shares(model, new)
            rows += [{**row, **keys, "provenance": provenance[model.system]} for row in shares]
    return metric_table(rows, stage=STAGE)


def _shares(model: Scored, new: Flags) -> list[Row]:
    right: Floats = np.mean([decide(probabilities) == model.labels for probabilities in model.probabilities], axis=0)
    first, regenerated = (mean_interval(right[of]) for of in (~new, new))
    influence = np.where(new, (right - regenerated[0]) / new.sum(), (first[0] - right) / (~new).sum())
    gap = regenerated[0] - first[0]
    rows = {
        "share_right_first_notes": (first, int((~new).sum())),
        "share_right_regenerated_notes": (regenerated, int(new.sum())),
        "share_right_regenerated_minus_first": (
            (gap, *linearised_interval(gap, influence, bounds=SIGNED)),
            len(new),
        ),
    }
    return [metric_row(name, *interval, n=n) for name, (interval, n) in rows.items()]


VARIANTS: dict[str, tuple[TextDeviation, ...]] = {
    **{f"neural-text, {name}": (name,) for name in get_args(TextDeviation)},
    "neural-text as released": get_args(TextDeviation),
}
"""System -> its deviations of SimSUM's released code."""


def effect_rows(parts: Parts, vectors: NoteVectors, params: Baselines, swaps: Swaps, provenance: str) -> pd.DataFrame:
    """METRICS rows of each variant's F1 minus that of neural-text, by condition and symptom, with the first seed."""
    tables = []
    for system, deviations in {neural_text.TEXT: (), **VARIANTS}.items():
        neural = params.neural.model_copy(update={"as_released": list(deviations)})
        changed = params.model_copy(update={"seeds": params.seeds[:1], "neural": neural})
        tables.append(neural_text.predict(parts, vectors, changed, system=system))
    conditions = tables[0]["condition"].unique()
    pairs = [((system, condition), (neural_text.TEXT, condition)) for system in VARIANTS for condition in conditions]
    return paired_rows(pd.concat(tables, ignore_index=True), pairs, parts.targets, swaps, provenance)
