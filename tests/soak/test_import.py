"""The exported replies of a lineage rebuild it in a fresh clone, with no call and the same bytes."""

from pathlib import Path

import pytest

from tests.support.clone import SMALL, Clone
from tests.support.endpoints import journal_lines, simulator

pytestmark = pytest.mark.soak

STAGES = ("write", "filter", "compact", "review", "note_qa")
"""Stages that call, between them, every role."""


def test_imported_replies_rebuild_a_lineage_without_its_endpoint(tmp_path: Path) -> None:
    first, journal, replies = Clone(tmp_path / "first"), tmp_path / "journal", tmp_path / "replies.jsonl"
    with simulator("--journal", str(journal)) as server:
        roles = first.roles_at(server.base_url)
        first.set_params(**SMALL | {"roles": roles, "sample__records": 30})
        first.vignette("repro", *STAGES)
    first.commit("built")
    first.vignette("store", "export", str(replies))
    second = first.cloned(tmp_path / "second")
    sent = len(journal_lines(journal))
    assert f"{sum(1 for _ in replies.open())} replies added" in second.vignette("store", "import", str(replies)).stdout
    done = second.vignette("repro", *STAGES)  # the endpoint is gone: a call would fail
    assert all(f"{role}: the replies of" in done.stdout for role in roles) and "not probed" in done.stdout
    assert len(journal_lines(journal)) == sent > 300
    assert all(second.outputs(stage) == first.outputs(stage) for stage in STAGES)
    assert second.git("status", "--porcelain") == "", "dvc.lock, fingerprints and tables are those of the commit"
