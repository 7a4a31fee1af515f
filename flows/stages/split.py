"""Stage `split`: train and test records of all baselines."""

from flows.runtime.stage import Stage
from tasks.baselines.targets import split_records


async def run(stage: Stage) -> None:
    """Split the records at random."""
    share = stage.params.baselines.test_share
    stage.save("split", split_records(stage.load("records"), test_share=share, seed=stage.params.seed))
