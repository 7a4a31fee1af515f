"""Stage `record`: writes the report with its lineage, and the lineage with figures, tables and report to MLflow."""

from flows.lineage.lineage import current_lineage, store_folder
from flows.lineage.recording import gather
from flows.lineage.report import write_report
from flows.runtime.stage import Stage
from tasks.tracking.mlflow_store import LineageStore


async def run(stage: Stage) -> None:
    """Record the lineage in MLflow, once, and write its id and content to a file."""
    lineage = current_lineage()
    write_report()
    LineageStore(store_folder(), stage.params.record.experiment).write(lineage, gather(lineage))
    stage.save_text("lineage", lineage.as_json())
