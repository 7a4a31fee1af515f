"""Fixtures shared by all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clone import Clone

FEW_RECORDS = {"sample__records": 60, "report__notes": 20, "baselines__neural__least_rows": 200}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run each module's tests in one worker, and all whole-DAG tests first in one worker.

    Whole-DAG tests share one built clone and take longer than all other tests: if they started last, the other workers
    would idle.
    """
    for item in items:
        dag = item.get_closest_marker("dag") is not None
        item.add_marker(pytest.mark.xdist_group("dag" if dag else item.nodeid.split("::")[0]))
    items.sort(key=lambda item: item.get_closest_marker("dag") is None)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A scratch clone in which the whole DAG has run on few records. Tests must leave it unchanged."""
    folder: Path = tmp_path_factory.mktemp("clone") / "vignette"
    folder.mkdir()
    clone = Clone(folder)
    clone.set_params(**FEW_RECORDS)
    clone.vignette("repro")
    clone.git("add", "-A")
    clone.git("commit", "-qm", "built")
    yield clone
    clone.vignette("server", "stop")
