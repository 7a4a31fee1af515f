"""Stage `network_published`: the network at the published size of 10,000 records."""

from flows.engine.stage import Stage
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.network.causal import causal_table
from tasks.network.definition import load_definition
from tasks.network.recovery import recovery_table
from tasks.network.reproduction import count_rows
from tasks.network.sampling import sample


async def run(stage: Stage) -> None:
    """Write the recovery and causal tables of 10,000 records, and compare published counts with replicate samples."""
    definition = load_definition(stage.dep("network"))
    size, settings, seed = stage.params.network_published, stage.params.network, stage.params.seed
    records = sample(definition, size.records, seed)
    stage.save_metrics("network_recovery", recovery_table(definition, records, settings, seed))
    stage.save_metrics("network_causal", causal_table(definition, records, settings.draws, seed))
    rows = count_rows(definition, size.records, size.replicates, seed)
    stage.save("reproduction_network", rows, REPRODUCTION_ROWS)
