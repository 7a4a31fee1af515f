"""Draws and estimates from the network are those of earlier versions: committed results depend on them."""

import pandas as pd

from schemas.params.network import Network
from tasks.network.causal import causal_table
from tasks.network.graph import NetworkDefinition
from tasks.network.recovery import recovery_table
from tasks.network.reproduction import count_rows
from tasks.network.sampling import sample
from tests.support.recorded import assert_as_recorded

NUMBERS = ["metric", "item", "system", "condition", "value", "low", "high", "n", "unscored"]


def test_records(respiratory: NetworkDefinition) -> None:
    assert_as_recorded("network_records", sample(respiratory, 6, 7))


def test_fitted_parameters_with_their_intervals(respiratory: NetworkDefinition) -> None:
    table = recovery_table(respiratory, sample(respiratory, 400, 7), Network(draws=100, held_out=1000), 7)
    shown = table["item"].str.startswith(("all", "cough:", "days_at_home", "fever=high"))
    assert_as_recorded("network_recovery", table.loc[shown, NUMBERS])


def test_causal_effects_with_their_intervals(respiratory: NetworkDefinition) -> None:
    assert_as_recorded("network_causal", causal_table(respiratory, sample(respiratory, 400, 7), 40, 7)[NUMBERS])


def test_replicates_of_simsums_counts(respiratory: NetworkDefinition) -> None:
    rows: pd.DataFrame = count_rows(respiratory, 10_000, 3, 7)
    assert_as_recorded("network_counts", rows[["row", "published", "reproduced", "tolerance", "basis"]])
