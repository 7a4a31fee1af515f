"""The main pipeline on 40 records gives the tables of its snapshots."""

from pathlib import Path

import pytest

from tests.snapshots.small import KEPT, default_run
from tests.snapshots.tables import SHOWN, changed

pytestmark = pytest.mark.timeout(1200)


def test_every_table_is_as_in_its_snapshot(tmp_path: Path) -> None:
    differing = changed(KEPT / "default", default_run(tmp_path))
    said = [line for lines in differing.values() for line in [*lines[:SHOWN], f"{len(lines)} differences"]]
    assert not said, "\n".join([*said, "if all of this is meant: python -m tests.snapshots default"])
