"""Stage `network_published`: the network at the published size of 10,000 records."""

from flows.runtime.stage import Stage
from tasks.network.causal import causal_table
from tasks.network.recovery import recovery_table
from tasks.network.reproduction import count_rows
from tasks.network.sampling import sample


async def run(stage: Stage) -> None:
    """Write the recovery and causal tables of 10,000 records, and compare published counts with replicate samples."""
    definition = stage.network
    size, settings, seed = stage.params.network_published, stage.params.network, stage.params.seed
    records = sample(definition, size.records, seed)
    stage.save_metrics("network_recovery", recovery_table(definition, records, settings, seed))
    stage.save_metrics("network_causal", causal_table(definition, records, settings.draws, seed))
    stage.save("reproduction_network", count_rows(definition, size.records, size.replicates, seed))
