"""Splits, predictions of the fitted network and their scores are those of earlier versions."""

import numpy as np
import pandas as pd

from schemas.params.baselines import Baselines
from tasks.baselines import bn_tab
from tasks.baselines.paired import paired_rows
from tasks.baselines.scoring import metric_rows, reliability_rows
from tasks.baselines.split import parts_of, split_records
from tasks.baselines.targets import targets_of
from tests.baselines.samples import definition, records
from tests.support.recorded import assert_as_recorded

SEED = 7


def predictions() -> pd.DataFrame:
    frame = records(160)
    train, test = parts_of(frame, split_records(frame, test_share=0.25, seed=SEED))
    return bn_tab.predict(definition(), train, test, Baselines().network, SEED)


def test_the_records_of_the_test_part() -> None:
    split = split_records(records(40), test_share=0.25, seed=SEED)
    assert_as_recorded("split", split[split["part"] == "test"])


def test_probabilities_and_scores() -> None:
    found = predictions()
    of_cough = found[(found["symptom"] == "cough") & (found["record"] < 30)]
    assert_as_recorded("bn_tab", of_cough)
    rows = metric_rows(found, targets_of(definition()), seed=SEED, draws=40, bins=10, provenance={"BN-tab": "p"}).query(
        "item in ['cough', 'fever']"
    )
    assert_as_recorded("bn_tab_scores", rows[["condition", "item", "metric", "value", "low", "high", "n"]])
    bins = reliability_rows(found, targets_of(definition()), bins=5).query("symptom == 'fever'")
    assert_as_recorded("bn_tab_reliability", bins)


def test_paired_differences() -> None:
    found = predictions().query("symptom in ['cough', 'fever']")
    noise = np.random.default_rng(SEED).normal(0, 0.2, len(found))
    other = found.assign(system="other", probability=(found["probability"] + noise).clip(0.01, 0.99))
    total = other.groupby(["record", "condition", "symptom", "seed"])["probability"].transform("sum")
    other["probability"] /= total
    pairs = [(("BN-tab", name), ("other", name)) for name in ("all", "no-sympt")]
    kept = [target for target in targets_of(definition()) if target.symptom in ("cough", "fever")]
    rows = paired_rows(pd.concat([found, other]), pairs, kept, seed=SEED, draws=40, bins=10, provenance="p")
    assert_as_recorded("paired", rows[["system", "condition", "item", "metric", "value", "low", "high", "n"]])
