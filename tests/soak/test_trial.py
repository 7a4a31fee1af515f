"""`vignette trial` runs every stage on a few records and leaves the project as it is."""

from pathlib import Path

import pandas as pd
import pytest

from tests.support.clone import Clone

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


def test_a_trial_of_three_records_changes_nothing_here(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    clone = Clone(tmp_path / "project")
    done = clone.vignette("trial", "--records", "3", timeout=1700)
    assert clone.git("status", "--porcelain") == ""
    inside = clone.folder / ".vignette" / "trial"
    assert len(pd.read_parquet(inside / "data" / "sample" / "records.parquet")) == 3
    assert "not_fitted" in (inside / "reports" / "tables" / "baselines.csv").read_text()
    assert (inside / "reports" / "index.html").exists()
    lines = [line.split() for line in done.stdout.split("the whole run, 1,000 records")[1].splitlines()]
    writing = next(line for line in lines if line[:2] == ["write", "writer"])
    assert int(writing[3]) > 300 and writing[-1] == "scaled"
