"""Fixtures shared by all tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.clone import Clone

FEW_RECORDS = {"sample__records": 60, "report__notes": 20, "baselines__neural__least_rows": 200}


class ModuleScheduling(LoadScopeScheduling):
    """Runs each module's tests in one worker, and those of tests/dag, which share one built clone, in one worker."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::")[0]
        return "tests/dag" if module.startswith("tests/dag/") else module


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ModuleScheduling:
    """Schedule by module; ``--no-loadscope-reorder`` keeps the order of the collection."""
    return ModuleScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the whole-DAG tests: they take longer than all others, and the other workers would wait for them."""
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
