"""Stage `network`: fits the network to its own records, estimates the treatment's effect, recomputes printed tables."""

from flows.engine.stage import Stage
from schemas.tables.metrics import REPRODUCTION_ROWS
from schemas.tables.network import PRINTED_ANTIBIOTICS, PRINTED_DAYS, records_schema
from tasks.network.causal import causal_table
from tasks.network.definition import load_definition
from tasks.network.recovery import recovery_table
from tasks.network.reproduction import reproduction_rows


async def run(stage: Stage) -> None:
    """Write the recovery table, the causal table and the reproduction rows of Tables 7, 8 and 9."""
    definition = load_definition(stage.dep("network"))
    records = stage.load("records", records_schema(definition))
    params, seed = stage.params.network, stage.params.seed
    stage.save_metrics("network_recovery", recovery_table(definition, records, params, seed))
    stage.save_metrics("network_causal", causal_table(definition, records, params.draws, seed))
    printed = {
        "Table 7": stage.load("simsum_table7_antibiotics", PRINTED_ANTIBIOTICS),
        "Table 8": stage.load("simsum_table8_days_train", PRINTED_DAYS),
        "Table 9": stage.load("simsum_table9_days_test", PRINTED_DAYS),
    }
    stage.save("reproduction_network", reproduction_rows(definition, printed), REPRODUCTION_ROWS)
