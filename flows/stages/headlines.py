"""Stage `headlines`: the few figures and curves that DVC's own commands show."""

import json

from flows.runtime import Stage
from flows.tables import CSV_FLOAT, write_atomically
from schemas.tables.baselines import RELIABILITY
from schemas.tables.metrics import METRICS
from tasks.reporting.headlines import headlines, mean_f1, reliability_curves, shares


async def run(stage: Stage) -> None:
    """Write reports/metrics.json for ``dvc metrics`` and ``dvc exp``, and the tables behind ``dvc plots``."""
    stems = [stem for stem in stage.files.deps if stem in stage.params.headlines.tables]
    tables = {stem: stage.load(stem, METRICS) for stem in stems}
    figures = headlines(tables)
    write_atomically(stage.out("metrics"), lambda to: to.write_text(json.dumps(figures, indent=1) + "\n"))
    plots = {
        "f1": mean_f1(tables["baselines"]),
        "reliability": reliability_curves(stage.load("baselines_reliability", RELIABILITY)),
        "shares": shares(figures),
    }
    for stem, table in plots.items():
        write_atomically(stage.out(stem), lambda to, table=table: table.to_csv(to, index=False, float_format=CSV_FLOAT))
