"""Stages `sample` and `split`: the patient records, and which of them train the baselines."""

from flows.runtime.stage import Stage
from tasks.baselines.targets import split_records
from tasks.dataset.simsum import read_texts
from tasks.network.sampling import sample


async def run_sample(stage: Stage) -> None:
    """Write the records."""
    if stage.params.write.source == "published":
        texts = read_texts(stage.params.write.published, stage.params.domain)
        records = texts[["record", *stage.network.variables]]
    else:
        records = sample(stage.network, stage.params.sample.records, stage.params.seed)
    stage.save("records", records)


async def run_split(stage: Stage) -> None:
    """Split the records at random."""
    share = stage.params.baselines.test_share
    stage.save("split", split_records(stage.load("records"), test_share=share, seed=stage.params.seed))
