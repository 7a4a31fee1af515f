"""Stage `sample`: draws the patient records from the network, or takes published ones."""

from flows.engine.stage import Stage
from schemas.tables.network import records_schema
from tasks.dataset.published import read_texts
from tasks.network.definition import load_definition
from tasks.network.sampling import sample


async def run(stage: Stage) -> None:
    """Write the records."""
    definition = load_definition(stage.dep("network"))
    if stage.params.write.source == "published":
        published = read_texts(stage.params.write.published).records
        stage.save("records", published[["record", *definition.variables]], records_schema(definition))
        return
    records = sample(definition, stage.params.sample.records, stage.params.seed)
    stage.save("records", records, records_schema(definition))
