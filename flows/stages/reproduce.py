"""Stage `reproduce`: gathers the reproduction rows of every room and judges them."""

import pandas as pd

from flows.runtime.stage import Stage
from tasks.reproduction.published import judge

PREFIX = "reproduction_"


async def run(stage: Stage) -> None:
    """Concatenate each declared ``reproduction_*`` table and judge the rows."""
    stage.save("reproduction", judge(gather(stage)))


def gather(stage: Stage) -> pd.DataFrame:
    """All rows of the declared ``reproduction_*`` tables."""
    stems = sorted(stem for stem in stage.files.deps if stem.startswith(PREFIX))
    return pd.concat([stage.load(stem) for stem in stems], ignore_index=True)
