"""Stage `sample`: draws the patient records from the network."""

from flows.runtime import Stage
from schemas.tables.network import records_schema
from tasks.network.definition import load_definition
from tasks.network.sampling import sample


async def run(stage: Stage) -> None:
    """Write the records."""
    definition = load_definition(stage.dep("respiratory"))
    records = sample(definition, stage.params.sample.records, stage.params.seed)
    stage.save("records", records, records_schema(definition))
