"""The second pipeline gives the tables of its snapshots on the first texts of each set of outside data."""

from pathlib import Path

import pytest

from schemas.errors import SourceError
from tests.snapshots.small import KEPT, published_run, sources_at_hand
from tests.snapshots.tables import SHOWN, changed

pytestmark = [pytest.mark.outside, pytest.mark.timeout(1200)]


def test_every_table_is_as_in_its_snapshot(tmp_path: Path) -> None:
    try:
        sources_at_hand()
    except SourceError as error:
        pytest.skip(str(error))
    differing = changed(KEPT / "published", published_run(tmp_path))
    said = [line for lines in differing.values() for line in [*lines[:SHOWN], f"{len(lines)} differences"]]
    assert not said, "\n".join([*said, "if all of this is meant: python -m tests.snapshots published"])
