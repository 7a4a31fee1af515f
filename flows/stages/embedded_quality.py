"""Stage `embedded_quality`: the embedded writer against its truth, at default size and without outside data."""

from flows.engine.simulated_quality import measured
from flows.engine.stage import Stage


async def run(stage: Stage) -> None:
    """Write the table of the writer's quality."""
    stage.save_metrics("embedded_quality", measured(stage, stage.params.embedded_quality.records)[1])
