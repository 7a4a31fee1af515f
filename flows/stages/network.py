"""Stage `network`: fits the network to its own records, estimates the treatment's effect, recomputes printed tables."""

from flows.runtime.stage import Stage
from tasks.network.causal import causal_table
from tasks.network.recovery import recovery_table
from tasks.network.reproduction import reproduction_rows
from tasks.reproduction.published import SIMSUM, other_domain_rows


async def run(stage: Stage) -> None:
    """Write the recovery table, the causal table and the reproduction rows of Tables 7, 8 and 9."""
    definition = stage.network
    records = stage.load("records")
    params, seed = stage.params.network, stage.params.seed
    stage.save_metrics("network_recovery", recovery_table(definition, records, params, seed))
    stage.save_metrics("network_causal", causal_table(definition, records, params.draws, seed))
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
