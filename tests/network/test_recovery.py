"""Recovery of parameters, and the figures of SimSUM about its network."""

import pandas as pd
import pytest

from flows.runtime.tables import check
from schemas.params.records import Network
from schemas.tables.metrics import METRICS
from tasks.network.recovery import FEWEST, FEWEST_IN_ALL, FEWEST_NOISY_OR, recovery_table
from tasks.network.sampling import sample
from tests.network.networks import GUT, RESPIRATORY

PARAMS = Network(draws=100, held_out=2000)


def test_every_parameter_has_truth_fit_and_interval() -> None:
    table = check(recovery_table(RESPIRATORY, sample(RESPIRATORY, 2000, 7), PARAMS, 7), METRICS, "recovery")
    one = table[table["metric"] == "parameter"]
    truth = one[one["system"] == "true"].set_index("item")["value"]
    # 26 free entries of tables; 20 parameters of noisy-ORs, 7 of the logistic and 16 of the two Poisson models
    assert len(truth) == 26 + 20 + 7 + 16
    assert truth["cough: pneumonia=yes"] == 0.85 and truth["days_at_home | antibiotics=yes: fever=high"] == 0.57
    assert truth["fever=high | pneumonia=yes, common_cold=no"] == pytest.approx(0.80)
    found = one[one["system"].isin(["K2 counts", "maximum likelihood"])].set_index("item")
    assert set(found.index) == set(truth.index)
    bounded = found[found["low"].notna()]
    assert (bounded["low"] <= bounded["value"]).all() and (bounded["value"] <= bounded["high"]).all()
    assert bounded["n"].min() >= FEWEST and set(found.index[found["n"] >= FEWEST_NOISY_OR]) <= set(bounded.index)
    assert set(one[one["system"] == "Adam, published settings"]["item"]) == {i for i in truth.index if ":" in i}


def test_few_records_give_no_interval_that_would_be_too_narrow() -> None:
    """Of 60 samples of 50 records, bootstraps of the regressions hold the truth in 62 to 85%."""
    table = recovery_table(RESPIRATORY, sample(RESPIRATORY, FEWEST_IN_ALL - 1, 7), PARAMS, 7)
    one = table[table["metric"] == "parameter"].set_index("system")
    assert one.loc["maximum likelihood", "low"].isna().all()
    counted = one.loc["K2 counts"]
    assert (counted["low"].notna() == (counted["n"] >= FEWEST)).all() and counted["low"].notna().any()


def test_interval_coverage_is_nominal() -> None:
    shares = []
    for seed in range(2):
        table = recovery_table(RESPIRATORY, sample(RESPIRATORY, 5000, seed), PARAMS, seed)
        shares.append(table[table["metric"] == "share of intervals that hold the truth"].set_index("system")["value"])
    means = pd.DataFrame(shares).mean()
    assert 0.90 < means["maximum likelihood"] < 0.99
    assert 0.90 < means["K2 counts"] < 0.99


def test_more_records_come_closer() -> None:
    errors = [
        recovery_table(GUT, sample(GUT, n, 3), PARAMS, 3).query("metric == 'mean absolute error'")["value"].mean()
        for n in (300, 30_000)
    ]
    assert errors[1] < errors[0] / 3
