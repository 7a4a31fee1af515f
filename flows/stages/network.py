"""Stages `network*`: the network refitted to its own records, the effect of the treatment, and predictions."""

import pandas as pd

from flows.runtime.stage import Stage
from tasks.network.causal import causal_table
from tasks.network.predictions import count_table, prediction_table
from tasks.network.recovery import recovery_table
from tasks.network.sampling import sample


async def run_network(stage: Stage) -> None:
    """Write the recovery table, the causal table and the predictions for each combination of symptoms."""
    _save_recovery_and_effect(stage, stage.load("records"))
    stage.save_metrics("network_predictions", prediction_table(stage.network))


async def run_network_published(stage: Stage) -> None:
    """Write the recovery and causal tables of 10,000 records, and counts of records in replicate samples."""
    size, seed = stage.params.network_published, stage.params.seed
    _save_recovery_and_effect(stage, sample(stage.network, size.records, seed))
    stage.save_metrics("network_counts", count_table(stage.network, size.records, size.replicates, seed))


def _save_recovery_and_effect(stage: Stage, records: pd.DataFrame) -> None:
    params, seed = stage.params.network, stage.params.seed
    stage.save_metrics("network_recovery", recovery_table(stage.network, records, params, seed))
    stage.save_metrics("network_causal", causal_table(stage.network, records, params.draws, seed))
