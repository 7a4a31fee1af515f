"""Stage `reproduce_published`: judges the second pipeline's rows and lists printed tables that are not reproduced."""

import pandas as pd

from flows.runtime.stage import Stage
from flows.stages.reproduce import gather
from tasks.reproduction.published import absent_rows, judge


async def run(stage: Stage) -> None:
    """Judge the rows, with a row of basis ``absent`` for every cell without one."""
    rows = gather(stage)
    stage.save("reproduction", judge(pd.concat([rows, absent_rows(rows)], ignore_index=True)))
