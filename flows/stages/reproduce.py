"""Stage `reproduce`: gathers the reproduction rows of every room and judges them."""

import pandas as pd

from flows.engine.stage import Stage
from schemas.tables.metrics import REPRODUCTION, REPRODUCTION_ROWS
from tasks.reproduction.verdict import judge

PREFIX = "reproduction_"


async def run(stage: Stage) -> None:
    """Concatenate each declared ``reproduction_*`` table and judge the rows."""
    stage.save("reproduction", judge(gather(stage)), REPRODUCTION)


def gather(stage: Stage) -> pd.DataFrame:
    """All rows of the declared ``reproduction_*`` tables."""
    stems = sorted(stem for stem in stage.files.deps if stem.startswith(PREFIX))
    return pd.concat([stage.load(stem, REPRODUCTION_ROWS) for stem in stems], ignore_index=True)
