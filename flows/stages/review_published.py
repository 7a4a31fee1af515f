"""Stage `review_published`: SimSUM's Table 4, alphas and penalties, from the five evaluators' files."""

import pandas as pd

from flows.runtime.stage import Stage
from schemas.params import Params
from tasks.people.rating_agreement import EVALUATOR_FILES, evaluator_files, read_evaluators, reproduction_rows


def reads(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return list(EVALUATOR_FILES)


async def run(stage: Stage) -> None:
    """Write the reproduction rows; absent ones when the sources folder has no evaluators' files."""
    files = evaluator_files(stage.sources)
    ratings = read_evaluators(files) if files else None
    published = pd.read_csv(stage.dep("simsum_table4_expert"))
    stage.save("reproduction_review", reproduction_rows(published, ratings, seed=stage.params.seed))
