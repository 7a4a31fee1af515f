"""Stage `evaluate@NAME` of the third pipeline: one evaluation of the user's own texts."""

from flows.evaluation.api import load_evaluation
from flows.evaluation.folder import page
from flows.evaluation.work import evaluate_data, read_data, roles_of
from flows.runtime.stage import Stage
from tasks.measures.evaluation import evaluated
from tasks.statistics.metric_rows import metric_table

_MAYBE = ("claims", "grounded", "facts", "answers", "planted")
"""Tables that only some evaluations have."""


async def run(stage: Stage) -> None:
    """Evaluate, and write tables and page; a method that was not chosen has an empty table."""
    name = stage.name.partition("@")[2]
    chosen = load_evaluation(name)
    data = read_data(chosen)
    found = await evaluate_data(stage, chosen, data)
    stage.save("evaluated", evaluated(found.documents))
    stage.save("document_scores", found.table("scores"))
    for stem in _MAYBE:
        if stem in found.tables:
            stage.save(stem, found.table(stem))
        else:
            stage.save_empty(stem)
    stage.save("unscored_evaluation", found.table("unscored"))
    stage.save_metrics("metrics", found.table("metrics"))
    stage.save_metrics("judge", found.table("judge") if "judge" in found.tables else metric_table([]))
    stage.save("comparisons", found.table("comparisons"))
    asked: dict[str, str] = {role: stage.ask(role).label for role in roles_of(chosen, data)}
    html = page(found, name, asked)
    stage.save_text("report", html)
    found.require_scored()
