"""Stage `embedded_quality`: the simulator's notes against their truth, at the default size and without outside data."""

from flows.engine.simulated_quality import measured
from flows.engine.stage import Stage


async def run(stage: Stage) -> None:
    """Write the quality table."""
    stage.save_metrics("embedded_quality", measured(stage, stage.params.embedded_quality.records)[1])
