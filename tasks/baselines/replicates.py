"""Replicate draws of records and split: the sampling distribution of Table 5's tabular figures."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.baselines import Baselines, BaselinesPublished
from tasks.baselines import bn_tab, xgboost_tab
from tasks.baselines.classification_metrics import metric_of
from tasks.baselines.reproduction import prediction_tolerance
from tasks.baselines.scoring import STAGE, models_in
from tasks.baselines.split import parts_of, split_records
from tasks.baselines.targets import targets_of
from tasks.baselines.workers import run_jobs
from tasks.baselines.xgboost_grid import Combination
from tasks.network.graph import NetworkDefinition
from tasks.network.sampling import sample
from tasks.progress import progress
from tasks.statistics.metric_rows import COMPUTED, metric_row, metric_table

TUNING_STREAM, REPLICATE_STREAM = 51, 52

Known = dict[tuple[str, str], Combination]
Draw = tuple[pd.DataFrame, pd.DataFrame]


def draw(definition: NetworkDefinition, records: int, test_share: float, seed: int) -> Draw:
    """Train and test records of a fresh sample."""
    frame = sample(definition, records, seed)
    return parts_of(frame, split_records(frame, test_share=test_share, seed=seed))


def seed_of(seed: int, *stream: int) -> int:
    """The seed of one draw."""
    return int(np.random.default_rng([seed, *stream]).integers(2**31))


def tune_once(
    definition: NetworkDefinition, params: Baselines, size: BaselinesPublished, seed: int
) -> tuple[Known, pd.DataFrame]:
    """Hyper-parameters of every classifier, tuned on a separate draw, and the TUNED table."""
    train, test = draw(definition, size.records, params.test_share, seed_of(seed, TUNING_STREAM))
    _, tuned = xgboost_tab.predict(definition, train, test, params, seed)
    known = {(row["symptom"], row["setting"]): _combination(row) for row in tuned.to_dict("records")}
    return known, tuned


def _combination(row: dict[Hashable, Any]) -> Combination:
    integers = {"max_depth", "min_child_weight", "n_estimators"}
    fields: dict[str, Any] = {
        name: int(row[name]) if name in integers else float(row[name]) for name in Combination.__dataclass_fields__
    }
    return Combination(**fields)


def replicate(definition: NetworkDefinition, params: Baselines, records: int, known: Known, seed: int) -> pd.DataFrame:
    """F1 of BN-tab and XGBoost-tab, with counts and as released, on one draw: system, condition, symptom, f1."""
    train, test = draw(definition, records, params.test_share, seed)
    tables = [bn_tab.predict(definition, train, test, params.network, seed)]
    for system, counts in ((xgboost_tab.SYSTEM, True), (xgboost_tab.AS_RELEASED, False)):
        jobs = xgboost_tab.jobs_of(definition, train, test, params, seed, known, counts=counts)
        results = run_jobs(xgboost_tab.tune_and_predict, jobs, 1)
        tables.append(xgboost_tab.prediction_table(jobs, results, test, system))
    predictions = pd.concat(tables, ignore_index=True)
    rows = []
    for model in models_in(predictions, targets_of(definition)):
        sums = model.terms(2)[0].sums(np.ones((1, len(model.labels))))
        value = float(metric_of("f1", sums, len(model.target.values))[0])
        rows.append(
            {"system": model.system, "condition": model.condition, "symptom": model.target.symptom, "f1": value}
        )
    return pd.DataFrame(rows)


def replicate_many(
    definition: NetworkDefinition, params: Baselines, size: BaselinesPublished, known: Known, seed: int
) -> pd.DataFrame:
    """`replicate` for ``size.replicates`` draws, with a ``replicate`` column."""
    parts = []
    with progress("replicate draws", size.replicates, "draw") as bar:
        for number in range(size.replicates):
            drawn = replicate(definition, params, size.records, known, seed_of(seed, REPLICATE_STREAM, number))
            parts.append(drawn.assign(replicate=number))
            bar.update()
    return pd.concat(parts, ignore_index=True)


def replicate_rows(replicates: pd.DataFrame, level: float, tests: int, seed: int) -> pd.DataFrame:
    """METRICS rows: the mean F1 over replicates; low and high bound the prediction interval of one draw."""
    rows = []
    for (system, condition, symptom), group in replicates.groupby(["system", "condition", "symptom"]):
        mean, half = float(group["f1"].mean()), prediction_tolerance(group["f1"], level)
        metric = f"f1, mean of {len(group)} draws with {level:.0%} prediction interval"
        keys = {"system": system, "condition": condition, "item": symptom}
        rows.append(metric_row(metric, mean, mean - half, mean + half, n=tests, **keys))
    return metric_table(rows, stage=STAGE, seed=seed, provenance=COMPUTED)
