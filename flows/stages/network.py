"""Stages `network*`: the network refitted to its own records, the effect of the treatment, and printed tables."""

import pandas as pd

from flows.runtime.stage import Stage
from tasks.network.causal import causal_table
from tasks.network.recovery import count_rows, recovery_table, reproduction_rows
from tasks.network.sampling import sample
from tasks.reproduction.published import SIMSUM, other_domain_rows


async def run_network(stage: Stage) -> None:
    """Write the recovery table, the causal table and the reproduction rows of Tables 7, 8 and 9."""
    _save_recovery_and_effect(stage, stage.load("records"))
    definition = stage.network
    if definition.source != SIMSUM:
        absent = other_domain_rows(["Table 7", "Table 8", "Table 9"], definition.name)
        stage.save("reproduction_network", absent)
        return
    printed = {
        "Table 7": stage.load("simsum_table7_antibiotics"),
        "Table 8": stage.load("simsum_table8_days_train"),
        "Table 9": stage.load("simsum_table9_days_test"),
    }
    stage.save("reproduction_network", reproduction_rows(definition, printed))


async def run_network_published(stage: Stage) -> None:
    """Write the recovery and causal tables of 10,000 records, and compare published counts with replicate samples."""
    size, seed = stage.params.network_published, stage.params.seed
    _save_recovery_and_effect(stage, sample(stage.network, size.records, seed))
    stage.save("reproduction_network", count_rows(stage.network, size.records, size.replicates, seed))


def _save_recovery_and_effect(stage: Stage, records: pd.DataFrame) -> None:
    params, seed = stage.params.network, stage.params.seed
    stage.save_metrics("network_recovery", recovery_table(stage.network, records, params, seed))
    stage.save_metrics("network_causal", causal_table(stage.network, records, params.draws, seed))
