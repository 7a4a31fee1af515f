"""Stage `sample`: draws the patient records from the network, or takes published ones."""

from flows.runtime.stage import Stage
from tasks.dataset.simsum import read_texts
from tasks.network.sampling import sample


async def run(stage: Stage) -> None:
    """Write the records."""
    if stage.params.write.source == "published":
        records = read_texts(stage.params.write.published, stage.params.domain).records[
            ["record", *stage.network.variables]
        ]
    else:
        records = sample(stage.network, stage.params.sample.records, stage.params.seed)
    stage.save("records", records)
