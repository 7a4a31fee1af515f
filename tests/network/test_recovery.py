"""Recovery of parameters, and the figures of SimSUM about its network."""

import pandas as pd

from schemas.params.records import Network
from tasks.network.recovery import FEWEST, FEWEST_IN_ALL, recovery_table
from tasks.network.sampling import sample
from tests.network.networks import RESPIRATORY

PARAMS = Network(draws=100, held_out=2000)


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
