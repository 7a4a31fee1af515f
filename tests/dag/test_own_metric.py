"""The metric that the docs show, in the main pipeline: DVC runs its stage again when the file changes."""

from pathlib import Path

import pandas as pd
import pytest

from flows.runtime.tables import write_table
from schemas.tables.columns import typed
from schemas.tables.records import COMPACT_NOTES, NOTES
from schemas.tables.verdicts import VERDICTS
from tasks.measures.measure import verdict_table
from tests.measures.test_own_metrics import SHOWN
from tests.support.clone import Clone

pytestmark = pytest.mark.dag

TABLES = {
    "filter/notes": (NOTES, pd.DataFrame({"record": [0, 1], "attempt": 0, "note": ["dry cough", "high fever today"]})),
    "compact/compact_notes": (COMPACT_NOTES, pd.DataFrame({"record": [0, 1], "compact": ["dry cough", "fever"]})),
}


def test_dvc_runs_the_metric_of_the_docs_in_place_of_the_one_that_ships(tmp_path: Path) -> None:
    clone = Clone(tmp_path / "vignette")
    for name, (schema, table) in TABLES.items():
        table = table.assign(provenance="by hand", **({"consistent": True} if schema is NOTES else {}))
        write_table(typed(table, schema), clone.folder / "data" / f"{name}.parquet", schema)
    about = {"system": "w", "condition": "c", "item": "all", "metric": "claim_recall", "unit": "0", "text": "t"}
    judged = verdict_table([{"document": name, **about, "value": 1.0} for name in ("0", "1")], judge="j")
    write_table(judged, clone.folder / "data" / "doclens" / "doclens_judged.parquet", VERDICTS)
    try:
        found = {}
        for name in ("ships", "docs"):
            if name == "docs":
                (clone.folder / "evaluations" / "metrics.py").write_text(SHOWN[0])
            clone.run("dvc", "repro", "--single-item", "own_metrics")
            (found[name],) = pd.read_csv(clone.folder / "reports" / "tables" / "own_metrics.csv").to_dict("records")
    finally:
        clone.vignette("server", "stop")
    assert (found["ships"]["metric"], found["ships"]["n"], found["ships"]["unscored"]) == ("numbers kept", 0, 2)
    docs = found["docs"]
    assert (docs["metric"], docs["value"], docs["n"]) == ("kept words", pytest.approx(2 / 3, abs=1e-5), 2)
