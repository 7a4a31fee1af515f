"""Stage `network`: fits the network to its own records, estimates the treatment's effect, recomputes printed tables."""

from flows.engine.stage import Stage
from schemas.tables.metrics import REPRODUCTION_ROWS
from schemas.tables.network import records_schema
from schemas.tables.simsum import PRINTED_ANTIBIOTICS, PRINTED_DAYS
from tasks.network.causal import causal_table
from tasks.network.definition import load_definition
from tasks.network.recovery import recovery_table
from tasks.network.reproduction import reproduction_rows
from tasks.reproduction.other_domain import SIMSUM, other_domain_rows


async def run(stage: Stage) -> None:
    """Write the recovery table, the causal table and the reproduction rows of Tables 7, 8 and 9."""
    definition = load_definition(stage.dep("network"))
    records = stage.load("records", records_schema(definition))
    params, seed = stage.params.network, stage.params.seed
    stage.save_metrics("network_recovery", recovery_table(definition, records, params, seed))
    stage.save_metrics("network_causal", causal_table(definition, records, params.draws, seed))
    if definition.source != SIMSUM:
        absent = other_domain_rows(["Table 7", "Table 8", "Table 9"], definition.name)
        stage.save("reproduction_network", absent, REPRODUCTION_ROWS)
        return
    printed = {
        "Table 7": stage.load("simsum_table7_antibiotics", PRINTED_ANTIBIOTICS),
        "Table 8": stage.load("simsum_table8_days_train", PRINTED_DAYS),
        "Table 9": stage.load("simsum_table9_days_test", PRINTED_DAYS),
    }
    stage.save("reproduction_network", reproduction_rows(definition, printed), REPRODUCTION_ROWS)
