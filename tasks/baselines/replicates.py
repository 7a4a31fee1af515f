"""The tabular models of SimSUM's Table 5 on replicate draws of records and split."""

import numpy as np
import pandas as pd
from scipy.stats import t

from schemas.params.learning import Baselines, BaselinesPublished
from tasks.baselines import bn_tab, xgboost_tab
from tasks.baselines.scoring import STAGE, models_in, ratio_mean
from tasks.baselines.targets import Parts, parts_of, split_records
from tasks.baselines.xgboost_tab import Combination
from tasks.network.graph import NetworkDefinition
from tasks.network.sampling import sample
from tasks.progress import progress
from tasks.statistics.metric_rows import COMPUTED, metric_row, metric_table

TUNING_STREAM, REPLICATE_STREAM = 51, 52


def draw(definition: NetworkDefinition, records: int, test_share: float, seed: int) -> Parts:
    """Train and test records of a fresh sample."""
    frame = sample(definition, records, seed)
    return parts_of(definition, frame, split_records(frame, test_share=test_share, seed=seed))


def seed_of(seed: int, *stream: int) -> int:
    """The seed of one draw."""
    return int(np.random.default_rng([seed, *stream]).integers(2**31))


def tune_once(
    definition: NetworkDefinition, params: Baselines, size: BaselinesPublished, seed: int
) -> tuple[xgboost_tab.Known, pd.DataFrame]:
    """Hyper-parameters of every classifier, tuned on a separate draw, and the TUNED table."""
    parts = draw(definition, size.records, params.test_share, seed_of(seed, TUNING_STREAM))
    _, tuned = xgboost_tab.predict(parts, params, seed)
    known = {(row["symptom"], row["setting"]): Combination.of(row) for row in tuned.to_dict("records")}
    return known, tuned


def replicate(
    definition: NetworkDefinition, params: Baselines, records: int, known: xgboost_tab.Known, seed: int
) -> pd.DataFrame:
    """F1 of BN-tab and XGBoost-tab, with counts and as released, on one draw: system, condition, symptom, f1."""
    parts = draw(definition, records, params.test_share, seed)
    tables = [bn_tab.predict(parts, params.network, seed)]
    one_process = params.model_copy(update={"processes": 1})
    for system, counts in ((xgboost_tab.SYSTEM, True), (xgboost_tab.AS_RELEASED, False)):
        predicted, _ = xgboost_tab.predict(parts, one_process, seed, known, counts=counts)
        tables.append(predicted.assign(system=system))
    rows = []
    for model in models_in(pd.concat(tables, ignore_index=True), parts.targets):
        keys = {"system": model.system, "condition": model.condition, "symptom": model.target.symptom}
        rows.append({**keys, "f1": ratio_mean(*model.terms("f1"))[0]})
    return pd.DataFrame(rows)


def replicate_many(
    definition: NetworkDefinition, params: Baselines, size: BaselinesPublished, known: xgboost_tab.Known, seed: int
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
        mean, count = float(group["f1"].mean()), len(group)
        half = float(t.ppf((1 + level) / 2, count - 1) * group["f1"].std(ddof=1) * np.sqrt(1 + 1 / count))
        metric = f"f1, mean of {count} draws with {level:.0%} prediction interval"
        keys = {"system": system, "condition": condition, "item": symptom}
        rows.append(metric_row(metric, mean, mean - half, mean + half, n=tests, **keys))
    return metric_table(rows, stage=STAGE, seed=seed, provenance=COMPUTED)
