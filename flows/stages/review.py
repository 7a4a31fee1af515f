"""Stages `review`, expert review of the notes of a run, and `review_published`, the ratings behind SimSUM's Table 4."""

import pandas as pd

from flows.runtime.stage import Stage
from flows.runtime.tables import write_folder
from schemas.params import Params
from tasks.domains.rules import rules_of
from tasks.people.rating_agreement import (
    EVALUATOR_FILES,
    evaluator_files,
    published_ratings,
    rating_labels,
    read_evaluators,
    review_metrics,
    review_scores,
)
from tasks.people.rating_form import RatingForm, draw_notes, rate_notes, ratings_of, read_rubric

MODEL_RATER = "model"


async def run_review(stage: Stage) -> None:
    """Draw notes, write forms, have the judge rate as well, and score the returned files."""
    params, seed, rules = stage.params.review, stage.params.seed, rules_of(stage.params.domain)
    tables = (stage.load("prompts"), stage.load("notes"), stage.load("compact_notes"))
    drawn = draw_notes(*tables, params, rules, seed=seed)
    stage.save("review_notes", drawn)
    form, rubric = RatingForm(drawn, params.raters), read_rubric(rules.phrases)
    forms = {f"form_{rater}.html": form.filled(rater, rubric, seed=seed).encode() for rater in params.raters}
    write_folder(stage.out("forms"), forms)

    people = form.verdicts(stage.returned("review_returned", form.id))
    by_model = drawn[~drawn["practice"]] if params.model_rater else drawn.head(0)
    rated, unscored = await rate_notes(by_model, rubric, stage.ask("judge"), MODEL_RATER)
    verdicts = pd.concat([people, rated], ignore_index=True)
    stage.save("ratings", verdicts)
    stage.save("rating_labels", rating_labels(verdicts, stage.ask("judge").label))
    stage.save("review_scores", review_scores(ratings_of(verdicts)))
    stage.save_unscored("unscored_review", unscored, of=len(by_model))
    made = stage.provenance(["judge"])
    stage.save_metrics("review", review_metrics(verdicts, seed=seed, unscored=len(unscored), provenance=made))


def reads_review_published(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return list(EVALUATOR_FILES)


async def run_review_published(stage: Stage) -> None:
    """Write the figures of the evaluators' files; no rows without them in the sources folder."""
    files = evaluator_files(stage.sources)
    ratings = read_evaluators(files) if files else None
    stage.save_metrics("expert_ratings", published_ratings(ratings, stage.params.seed))
