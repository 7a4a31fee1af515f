"""Stages `reproduce` and `reproduce_published`: gather the reproduction rows of every room and judge them."""

import pandas as pd

from flows.runtime.stage import Stage
from tasks.reproduction.published import absent_rows, judge

PREFIX = "reproduction_"


async def run_reproduce(stage: Stage) -> None:
    """Concatenate each declared ``reproduction_*`` table and judge the rows."""
    stage.save("reproduction", judge(gather(stage)))


def gather(stage: Stage) -> pd.DataFrame:
    """All rows of the declared ``reproduction_*`` tables."""
    stems = sorted(stem for stem in stage.files.deps if stem.startswith(PREFIX))
    return pd.concat([stage.load(stem) for stem in stems], ignore_index=True)


async def run_reproduce_published(stage: Stage) -> None:
    """Judge the rows, with a row of basis ``absent`` for every cell without one."""
    rows = gather(stage)
    stage.save("reproduction", judge(pd.concat([rows, absent_rows(rows)], ignore_index=True)))
