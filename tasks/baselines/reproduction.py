"""SimSUM's Tables 5 and 6 beside ours: replicate draws of records and split, and reproduction rows."""

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from schemas.params.learning import Baselines, BaselinesPublished
from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.baselines import bn_tab, neural_text, xgboost_tab
from tasks.baselines.scoring import STAGE, models_in, ratio_mean
from tasks.baselines.targets import Parts, parts_of, split_records
from tasks.baselines.xgboost_tab import Combination
from tasks.network.graph import NetworkDefinition
from tasks.network.sampling import sample
from tasks.progress import progress
from tasks.reproduction.published import Cell, printed_cells
from tasks.statistics.bootstrap import LEVEL
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
        mean, half = float(group["f1"].mean()), prediction_tolerance(group["f1"], level)
        metric = f"f1, mean of {len(group)} draws with {level:.0%} prediction interval"
        keys = {"system": system, "condition": condition, "item": symptom}
        rows.append(metric_row(metric, mean, mean - half, mean + half, n=tests, **keys))
    return metric_table(rows, stage=STAGE, seed=seed, provenance=COMPUTED)


PUBLISHED_TESTS = 2000
"""Test records behind the printed figures."""
CONFIDENCE = 0.99
MEANS_WITHIN = 0.04
"""Tolerance for means over the symptoms on the simulator's notes."""
_COMPLETE = 0.9  # share of the printed test records needed for a comparison; some records may have no note

_REPRODUCED = {
    bn_tab.SYSTEM: (bn_tab.SYSTEM, ""),
    xgboost_tab.SYSTEM: (
        xgboost_tab.AS_RELEASED,
        "; without counts, as in the released code; hyper-parameters tuned with counts",
    ),
}
"""The system that reproduces a printed one, with a remark for the note."""


def prediction_tolerance(replicates: pd.Series, level: float = CONFIDENCE) -> float:
    """Half the width of the prediction interval for one more draw, from a normal sample of replicate values (R,)."""
    count = len(replicates)
    return float(t.ppf((1 + level) / 2, count - 1) * replicates.std(ddof=1) * np.sqrt(1 + 1 / count))


def tabular_rows(replicates: pd.DataFrame, table_5: pd.DataFrame, level: float) -> pd.DataFrame:
    """REPRODUCTION_ROWS of Table 5's tabular models: basis ``sampled``.

    ``replicates`` has one row per replicate, system, condition and symptom with its ``f1``. XGBoost-tab is compared as
    released, once for each printed figure.
    """
    groups = replicates.groupby(["system", "condition", "symptom"])["f1"]
    rows = []
    for cell in printed_cells("simsum", "Table 5", table_5):
        if cell.labels["model"] in _REPRODUCED:
            system, remark = _REPRODUCED[cell.labels["model"]]
            values = groups.get_group((system, cell.labels["setting"], cell.column))
            note = f"mean of {len(values)} draws of records and split; {level:.0%} prediction interval{remark}"
            tolerance = prediction_tolerance(values, level)
            rows.append(cell.reproduced(values.mean(), "sampled", tolerance=tolerance, note=note))
    return typed(rows, REPRODUCTION_ROWS)


def text_rows(scores: pd.DataFrame, table_5: pd.DataFrame, table_6: pd.DataFrame) -> pd.DataFrame:
    """REPRODUCTION_ROWS of the text models of Tables 5 and 6: basis ``fitted`` or ``stand-in``, by who wrote the notes.

    The tolerance is the sampling error of both figures at 99% confidence: ours from the bootstrap interval, theirs the
    same for 2,000 test records. It does not allow for differences between our notes and the published ones. Models
    trained on fewer records than the published ones are weaker for that alone: their rows are ``absent``.
    """
    f1 = scores[scores["metric"] == "f1"].set_index(["system", "condition", "item"])
    cells = [*printed_cells("simsum", "Table 5", table_5), *printed_cells("simsum", "Table 6", table_6)]
    rows = []
    for cell in cells:
        if (key := _system_and_condition(cell)) is not None:
            if (*key, cell.column) not in f1.index:
                rows.append(cell.absent("the model was not fitted: too few train records"))
                continue
            ours = f1.loc[(*key, cell.column)]
            basis, note = _basis(ours)
            tolerance = sampling_tolerance(ours["low"], ours["high"], int(ours["n"]))
            rows.append(cell.reproduced(ours["value"], basis, tolerance=tolerance, note=note))
    return typed(rows, REPRODUCTION_ROWS)


def _system_and_condition(cell: Cell) -> tuple[str, str] | None:
    """The system and condition of a text model's cell in our metric table; None for other models."""
    if cell.table == "Table 6":
        return neural_text.TEXT, f"{cell.labels['note']}/{cell.labels['embedding']}"
    system, setting = cell.labels["model"], cell.labels["setting"]
    conditions = {neural_text.TEXT: f"{setting}/{neural_text.MEAN}", neural_text.TEXT_TAB: setting.replace(" + ", "/")}
    return (system, conditions[system]) if system in conditions else None


def mean_rows(scores: pd.DataFrame, table_5: pd.DataFrame, table_6: pd.DataFrame) -> pd.DataFrame:
    """REPRODUCTION_ROWS of the text models' means over the symptoms, each with tolerance ``MEANS_WITHIN``."""
    rows = text_rows(scores, table_5, table_6).groupby(["source", "table", "row"], sort=False)
    same, means = rows[["basis", "note"]].first(), rows[["published", "reproduced"]].mean()
    return typed(means.join(same).assign(column="mean", tolerance=MEANS_WITHIN).reset_index(), REPRODUCTION_ROWS)


def _basis(scored: pd.Series) -> tuple[str, str]:
    """Basis of the comparison of a text model's figure with the printed one, and the note that explains it."""
    simulator, tests = "simulator's rules" in scored["provenance"], int(scored["n"])
    if tests < PUBLISHED_TESTS * _COMPLETE:
        return "absent", f"{tests} test notes here, {PUBLISHED_TESTS:,} printed: set sample.records to 10000 to compare"
    if simulator:
        return "fitted", f"{tests} test notes of the simulator's writer, whose rates were fitted to this table"
    return "stand-in", f"{tests} test notes of another writer"


def sampling_tolerance(low: float, high: float, n: int) -> float:
    """Half width of the 99% interval for the difference of two samples, from a 95% interval on ``n`` records."""
    error = (high - low) / 2 / norm.ppf((1 + LEVEL) / 2)
    return float(norm.ppf((1 + CONFIDENCE) / 2) * error * np.sqrt(1 + n / PUBLISHED_TESTS))
