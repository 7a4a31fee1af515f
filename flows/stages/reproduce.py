"""Stages `reproduce` and `reproduce_published`: the papers' printed figures beside those of a pipeline's tables."""

from flows.runtime.stage import Stage
from tasks.papers.reproduction import PUBLISHED, judged, tables_needed


async def run_reproduce(stage: Stage) -> None:
    """Judge the figures that tables of the main pipeline answer."""
    stage.save("reproduction", judged({name: stage.load_metrics(name) for name in tables_needed()}))


async def run_reproduce_published(stage: Stage) -> None:
    """Judge the figures that tables of this pipeline answer, with a row of basis ``absent`` for what lacks figures."""
    tables = {name: stage.load_metrics(name.rpartition("/")[2]) for name in tables_needed(PUBLISHED)}
    stage.save("reproduction", judged(tables, PUBLISHED))
