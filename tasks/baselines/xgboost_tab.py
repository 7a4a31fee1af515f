"""XGBoost-tab: one gradient-boosted classifier per symptom and evidence setting, tuned by cross-validation (F.2)."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from schemas.params.learning import Baselines
from schemas.tables.baselines import TUNED
from schemas.tables.columns import typed
from schemas.tables.evidence import EVIDENCE_SETTINGS, EvidenceSetting, evidence_columns
from tasks.baselines.scoring import STAGE
from tasks.baselines.targets import (
    Floats,
    Parts,
    Singles,
    Target,
    fitted_targets,
    labels_of,
    lacking,
    ordinal_features,
    prediction_rows,
    prediction_table,
)
from tasks.baselines.workers import run_jobs
from tasks.baselines.xgboost_lockstep import TrainingSet
from tasks.baselines.xgboost_search import Combination, SearchResult, combinations, fit_plain, search
from tasks.network.graph import NetworkDefinition
from tasks.statistics.metric_rows import COMPUTED, metric_row, metric_table

SYSTEM = "XGBoost-tab"
AS_RELEASED = "XGBoost-tab as released"
"""SimSUM's released code: its ColumnTransformer drops counts (days at home), which Appendix F.2 lists as a feature."""


@dataclass(frozen=True)
class Job:
    """One classifier: its train records, the evidence of the test records, and how to tune it."""

    target: Target
    setting: EvidenceSetting
    train: TrainingSet
    test: Singles
    params: Baselines
    seed: int
    known: Combination | None = None  # hyper-parameters chosen earlier; None: tune


def training_set(
    records: pd.DataFrame, columns: list[str], target: Target, definition: NetworkDefinition
) -> TrainingSet:
    """Evidence and labels with the class balance of Appendix F.2.

    Two values: scale_pos_weight is negatives over positives. More: a record's weight is n / (values * records of its
    label), as with scikit-learn's "balanced".
    """
    labels, values = labels_of(records, target), len(target.values)
    counts = np.maximum(np.bincount(labels, minlength=values), 1)
    weights = np.array([1, counts[0] / counts[1]]) if target.is_binary else len(labels) / (values * counts)
    return TrainingSet(ordinal_features(records, columns, definition), labels, weights)


def cannot_fit(parts: Parts, params: Baselines) -> dict[str, str]:
    """Reasons by symptom: each fold of the stratified cross-validation needs every value."""
    return lacking(parts, each=params.xgboost.folds)


Known = dict[tuple[str, str], Combination]
"""Hyper-parameters by symptom and evidence setting."""


def jobs_of(
    parts: Parts, params: Baselines, seed: int, known: Known | None = None, *, counts: bool = True
) -> list[Job]:
    """One job per symptom and setting, the longest (most values, most evidence) first.

    ``known`` hyper-parameters are used without tuning; without ``counts`` the evidence lacks counts (`AS_RELEASED`).
    """
    jobs, definition = [], parts.definition
    for target, setting in product(fitted_targets(parts, cannot_fit(parts, params)), EVIDENCE_SETTINGS):
        columns = evidence_columns(definition, target.symptom, setting)
        if not counts:
            columns = [name for name in columns if not definition.is_count(name)]
        data = training_set(parts.train, columns, target, definition)
        evidence = ordinal_features(parts.test, columns, definition)
        chosen = known[target.symptom, setting] if known else None
        jobs.append(Job(target, setting, data, evidence, params, seed, chosen))
    return sorted(jobs, key=lambda job: (-job.train.values, -job.test.shape[1], job.target.symptom))


def tune(job: Job) -> SearchResult:
    """Search the grid for one classifier."""
    xgboost = job.params.xgboost
    return search(job.train, combinations(xgboost.grid), folds=xgboost.folds, seed=job.seed, verify=xgboost.verify)


def tune_and_predict(job: Job) -> tuple[Floats, Combination, float]:
    """Probabilities of the test records (n, values), the chosen combination and its mean F1 in cross-validation."""
    if job.known:
        chosen, score = job.known, float("nan")
    else:
        result = tune(job)
        chosen, score = result.best, float(np.average(result.checked[result.chosen]))
    fitted = fit_plain(job.train, chosen, np.arange(len(job.train.labels)), job.seed)
    return fitted.predict_proba(job.test).astype(float), chosen, score


def predict(
    parts: Parts, params: Baselines, seed: int, known: Known | None = None, *, counts: bool = True
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """PREDICTIONS of XGBoost-tab in every evidence setting, and TUNED: the chosen hyper-parameters and their grid.

    ``known`` and ``counts`` as of `jobs_of`.
    """
    jobs = jobs_of(parts, params, seed, known, counts=counts)
    predictions, tuned = [], []
    for job, (probabilities, chosen, score) in zip(
        jobs, run_jobs(tune_and_predict, jobs, params.processes), strict=True
    ):
        rows = prediction_rows(parts.test, probabilities, job.target, system=SYSTEM, condition=job.setting, seed=seed)
        predictions.append(rows)
        tuned.append(
            {
                "symptom": job.target.symptom,
                "setting": job.setting,
                "grid": params.xgboost.grid,
                "combinations": np.int64(len(combinations(params.xgboost.grid))),
                **{name: float(value) for name, value in chosen.as_dict().items()},
                "score": score,
            }
        )
    return prediction_table(predictions), typed(tuned, TUNED).sort_values(["symptom", "setting"], ignore_index=True)


def tuned_rows(tuned: pd.DataFrame, train: int, seed: int) -> pd.DataFrame:
    """METRICS rows of the chosen hyper-parameters, and the mean F1 in cross-validation as ``cv_f1``.

    The condition names the grid that was searched.
    """
    rows = []
    for chosen in tuned.to_dict("records"):
        keys = {
            "condition": f"{chosen['setting']}, {chosen['grid']} grid of {chosen['combinations']}",
            "item": chosen["symptom"],
            "n": train,
        }
        names = [name for name in tuned.columns if name not in ("symptom", "setting", "grid", "combinations", "score")]
        rows.append(metric_row("cv_f1", chosen["score"], **keys))
        rows += [metric_row(str(name), chosen[name], **keys) for name in names]
    return metric_table(rows, stage=STAGE, system=SYSTEM, seed=seed, provenance=COMPUTED)
