"""Stage `split`: train and test records of all baselines."""

from flows.engine.stage import Stage
from schemas.tables.baselines import SPLIT
from schemas.tables.network import records_schema
from tasks.baselines.split import split_records
from tasks.network.definition import load_definition


async def run(stage: Stage) -> None:
    """Split the records at random."""
    records = stage.load("records", records_schema(load_definition(stage.dep("network"))))
    split = split_records(records, test_share=stage.params.baselines.test_share, seed=stage.params.seed)
    stage.save("split", split, SPLIT)
