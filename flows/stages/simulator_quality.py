"""Stage `simulator_quality`: simulated notes against their truth, at the default size and without outside data."""

from flows.runtime.stage import Stage
from tasks.domains.rules import rules_of
from tasks.judges.writer_quality import writer_quality


async def run(stage: Stage) -> None:
    """Write the quality table."""
    params, rules = stage.params, rules_of(stage.params.domain)
    size = params.simulator_quality.records
    _, metrics = writer_quality(stage.network, rules, size, seed=params.seed, stage=stage.name)
    stage.save_metrics("simulator_quality", metrics)
