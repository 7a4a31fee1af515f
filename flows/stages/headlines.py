"""Stage `headlines`: the few figures and curves that DVC's own commands show."""

import json

import pandas as pd

from flows.repository.workspace import write_atomically
from flows.runtime.stage import Stage
from flows.runtime.tables import CSV_FLOAT
from tasks.reporting.headlines import headlines, mean_f1, reliability_curves, shares

CURVES = "baselines_reliability"


async def run(stage: Stage) -> None:
    """Write reports/metrics.json for ``dvc metrics`` and ``dvc exp``, and the tables behind ``dvc plots``."""
    stems = [stem for stem, path in stage.files.deps.items() if path.parent.name == "tables" and stem != CURVES]
    tables = {stem: stage.load_metrics(stem) for stem in stems}
    figures = headlines(tables)
    text = json.dumps(figures, indent=1) + "\n"
    stage.save_text("metrics", text)
    _save(stage, "f1", mean_f1(tables["baselines"]))
    _save(stage, "reliability", reliability_curves(stage.load(CURVES)))
    _save(stage, "shares", shares(figures))


def _save(stage: Stage, stem: str, table: pd.DataFrame) -> None:
    write_atomically(stage.out(stem), lambda to: table.to_csv(to, index=False, float_format=CSV_FLOAT))
