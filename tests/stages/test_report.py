"""Which tables of a folder the report shows."""

from pathlib import Path

import pandas as pd

from flows.stages.report import tables_in
from schemas.tables.baselines import RELIABILITY
from tests.support.report_page import metric_table


def test_metric_tables_with_rows_are_shown_and_other_layouts_listed(tmp_path: Path) -> None:
    table = metric_table({"metric": "x"})
    tables = {"shown": table, "empty": table[:0], "no_seed": table.drop(columns="seed")}
    tables["drawn_by_dvc"] = pd.DataFrame(columns=list(RELIABILITY.columns))
    for name, one in tables.items():
        one.to_csv(tmp_path / f"{name}.csv", index=False)
    found, not_shown = tables_in(tmp_path)
    assert (list(found), not_shown) == ([tmp_path / "shown.csv"], [str(tmp_path / "no_seed.csv")])
