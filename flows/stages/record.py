"""Stage `record`: writes this lineage, its figures, metric tables and report to MLflow."""

from flows.engine.lineage import current_lineage, store_folder
from flows.engine.recording import gather
from flows.engine.stage import Stage
from flows.engine.tables import write_atomically
from tasks.tracking.mlflow_store import LineageStore


async def run(stage: Stage) -> None:
    """Record the lineage in MLflow, once, and write its id and content to a file."""
    lineage = current_lineage()
    LineageStore(store_folder(), stage.params.record.experiment).write(lineage, gather(lineage))
    write_atomically(stage.out("lineage"), lambda to: to.write_text(lineage.as_json(), encoding="utf-8"))
