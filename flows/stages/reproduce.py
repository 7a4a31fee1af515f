"""Stage `reproduce`: gathers the reproduction rows of every room and judges them."""

import pandas as pd

from flows.runtime import Stage
from schemas.tables.metrics import REPRODUCTION, REPRODUCTION_ROWS
from tasks.reproduction.published import absent_rows
from tasks.reproduction.verdict import judge

PREFIX = "reproduction_"


async def run(stage: Stage) -> None:
    """Concatenate each declared ``reproduction_*`` table, add the published tables that nothing reproduces, judge."""
    stems = sorted(stem for stem in stage.files.deps if stem.startswith(PREFIX))
    rows = pd.concat([stage.load(stem, REPRODUCTION_ROWS) for stem in stems], ignore_index=True)
    if stage.params.reproduce.list_absent:
        rows = pd.concat([rows, absent_rows(rows)], ignore_index=True)
    stage.save("reproduction", judge(rows), REPRODUCTION)
