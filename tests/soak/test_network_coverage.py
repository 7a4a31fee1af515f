"""Simulated coverage of the intervals of a network's parameters and causal effects, on both domains."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.params.records import Fit, Network
from tasks.domains.in_use import FOLDER
from tasks.network.causal import causal_table
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition
from tasks.network.recovery import FEWEST_IN_ALL, LABELS, TRUE, recovery_table
from tasks.network.sampling import sample

pytestmark = pytest.mark.soak
SIMULATIONS = 150
PARAMS = Network(fit=Fit(optimiser="newton"), draws=400, held_out=10)
DOMAINS = ("respiratory", "urinary")


def definition(domain: str) -> NetworkDefinition:
    return load_definition(Path(FOLDER) / domain / "network.yaml")


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("records", [FEWEST_IN_ALL, 1000])
def test_intervals_of_parameters_hold_the_truth(domain: str, records: int) -> None:
    network, held = definition(domain), []
    for seed in range(SIMULATIONS):
        table = recovery_table(network, sample(network, records, [77, seed]), PARAMS, seed)
        one = table[table["metric"] == "parameter"].set_index("item")
        truth = one.loc[one["system"] == TRUE, "value"]
        for system in ("K2 counts", LABELS["newton"]):
            found = one[(one["system"] == system) & one["low"].notna()]
            known = truth[found.index]
            inside = (found["low"] <= known) & (known <= found["high"])
            held.append(pd.DataFrame({"system": system, "n": found["n"], "inside": inside}))
    every = pd.concat(held)
    cells = every.groupby(["system", pd.cut(every["n"], [0, 50, 100, np.inf])], observed=True)["inside"]
    shares = cells.mean()[cells.size() >= 500]
    print(domain, records, shares.round(3).to_dict())
    assert shares.min() >= 0.90 and every.groupby("system")["inside"].mean().min() >= 0.93


@pytest.mark.parametrize("domain", DOMAINS)
def test_intervals_of_causal_effects_hold_what_they_estimate(domain: str) -> None:
    """What a wrong adjustment estimates is its value in a million records, in which fewer strata are left out.

    The limits leave .03 to the chance of 150 simulations.
    """
    network = definition(domain)
    keys = ["system", "condition"]

    def effects(records: int, seed: int, draws: int) -> pd.DataFrame:
        table = causal_table(network, sample(network, records, [78, seed]), draws, seed)
        rows = table[(table["metric"] == "effect") & (table["n"] > 0)]
        return rows.assign(condition=rows["condition"].str.partition("; ")[2]).set_index(keys)

    target = effects(1_000_000, 0, 2)["value"]
    for records in (200, 1000):
        drawn = pd.concat([effects(records, seed, 400) for seed in range(1, SIMULATIONS + 1)])
        known = target[drawn.index].to_numpy()
        shares = ((drawn["low"] <= known) & (known <= drawn["high"])).groupby(level=keys).mean()
        print(domain, records, shares.round(3).to_dict())
        stratified = shares.index.get_level_values("system") == "stratification"
        assert shares[~stratified].min() >= 0.90 and shares[~stratified].mean() >= 0.92
        assert shares[stratified].min() >= 0.87
