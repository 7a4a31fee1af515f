"""Stage `evaluate@NAME` of the third pipeline: one evaluation of the user's own texts."""

from flows.engine.stage import Stage
from flows.engine.tables import write_atomically
from flows.evaluation.folder import page
from flows.evaluation.settings import load_evaluation
from flows.evaluation.work import evaluate, read_data, roles_of
from schemas.tables.columns import typed
from schemas.tables.evaluate import ANSWERED, CLAIMS, DOCUMENT_SCORES, OMITTED_FACTS, SYSTEM_COMPARISONS
from schemas.tables.evaluation import PLANTED
from tasks.statistics.metric_rows import metric_table

_MAYBE = (("claims", CLAIMS), ("facts", OMITTED_FACTS), ("answers", ANSWERED), ("planted", PLANTED))
"""Tables that only some evaluations have."""


async def run(stage: Stage) -> None:
    """Evaluate, and write tables and page; a method that was not chosen has an empty table."""
    name = stage.name.partition("@")[2]
    chosen = load_evaluation(name)
    data = read_data(chosen)
    found = await evaluate(stage, chosen, data)
    stage.save("document_scores", found.table("scores"), DOCUMENT_SCORES)
    for stem, schema in _MAYBE:
        stage.save(stem, found.table(stem) if stem in found.tables else typed([], schema), schema)
    unscored = found.table("unscored")
    stage.save_unscored("unscored_evaluation", unscored, of=found.judged + len(unscored))
    stage.save_metrics("metrics", found.table("metrics"))
    stage.save_metrics("judge", found.table("judge") if "judge" in found.tables else metric_table([]))
    stage.save("comparisons", found.table("comparisons"), SYSTEM_COMPARISONS)
    asked: dict[str, str] = {role: stage.ask(role).label for role in roles_of(chosen, data)}
    html = page(found, name, asked)
    write_atomically(stage.out("report"), lambda to: to.write_text(html, encoding="utf-8"))
