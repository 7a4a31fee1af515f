"""Stage `review`: notes drawn for rating, a form for each rater, a model's ratings, and what returned files say."""

import pandas as pd

from flows.engine.stage import Stage
from flows.engine.tables import write_folder
from schemas.tables.labels import HUMAN_LABELS
from schemas.tables.metrics import SCORES
from schemas.tables.notes import COMPACT_NOTES, NOTES, PROMPTS
from schemas.tables.review import PENALTIES, RATINGS, REVIEW_NOTES
from tasks.domains.rules import load_rules
from tasks.evaluation.expert_review.draw import draw_notes, form_id
from tasks.evaluation.expert_review.form import render_form
from tasks.evaluation.expert_review.labels import rating_labels
from tasks.evaluation.expert_review.metrics import review_metrics, review_scores
from tasks.evaluation.expert_review.model_rater import rate_notes
from tasks.evaluation.expert_review.returned import read_returned

MODEL_RATER = "model"


async def run(stage: Stage) -> None:
    """Draw notes, write forms, have the judge rate as well, and score the returned files."""
    params, seed = stage.params.review, stage.params.seed
    tables = (stage.load("prompts", PROMPTS), stage.load("notes", NOTES), stage.load("compact_notes", COMPACT_NOTES))
    drawn = draw_notes(*tables, params, seed=seed, labels=load_rules().labels)
    stage.save("review_notes", drawn, REVIEW_NOTES)
    forms = {f"form_{rater}.html": render_form(drawn, rater, seed=seed).encode() for rater in params.raters}
    write_folder(stage.out("forms"), forms)

    people = read_returned(stage.returned("review_returned", form_id(drawn)), drawn, params.raters)
    by_model = drawn[~drawn["practice"]] if params.model_rater else drawn.head(0)
    rated, unscored = await rate_notes(by_model, form_id(drawn), stage.ask("judge"), MODEL_RATER)
    ratings = pd.concat([people.ratings, rated.ratings], ignore_index=True)
    penalties = pd.concat([people.penalties, rated.penalties], ignore_index=True)
    stage.save("ratings", ratings, RATINGS)
    stage.save("penalties", penalties, PENALTIES)
    labels = rating_labels(by_model, ratings, penalties, stage.ask("judge").label)
    stage.save("rating_labels", labels, HUMAN_LABELS)
    stage.save("review_scores", review_scores(ratings), SCORES)
    stage.save_unscored("unscored_review", unscored, of=len(by_model))
    made = stage.provenance(["judge"])
    stage.save_metrics("review", review_metrics(ratings, penalties, seed=seed, unscored=len(unscored), provenance=made))
