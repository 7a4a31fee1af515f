"""Fixtures shared by all tests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from xdist.scheduler import LoadScopeScheduling

from tests.support.clone import SMALL, Clone

SECOND_DAG = "tests/dag/test_published_notes.py"
FEW_RECORDS: dict[str, Any] = {
    **{name: value for name, value in SMALL.items() if not name.startswith("embedded_quality")},
    "baselines__neural__least_rows": 200,
    "baselines__processes": 1,
    "baselines__calibration_folds": 2,
    "baselines__xgboost__folds": 2,
}
"""Params of the whole DAG. A stage that reads none of them and whose outputs are in git is not run."""


class ModuleScheduling(LoadScopeScheduling):
    """Runs each module's tests in one worker, and those of tests/dag in one worker but for ``SECOND_DAG``."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::")[0]
        return "tests/dag" if module.startswith("tests/dag/") and module != SECOND_DAG else module


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ModuleScheduling:
    """Schedule by module; ``--no-loadscope-reorder`` keeps the order of the collection."""
    return ModuleScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the whole-DAG tests first and the second DAG half-way: the other workers would wait for them at the end.

    When the second starts, the first DAG, which it continues, has been built by another worker.
    """
    module = {item: item.nodeid.split("::")[0] for item in items}
    others = [item for item in items if item.get_closest_marker("dag") is None]
    half = module[others[len(others) // 2]] if others else ""

    def place(item: pytest.Item) -> int:
        if module[item] == SECOND_DAG:
            return 2
        if item.get_closest_marker("dag") is not None:
            return 0
        return 1 if module[item] < half else 3

    items.sort(key=place)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A scratch clone in which the whole DAG has run on few records. Tests must leave it unchanged.

    The DAG runs once for all workers; each gets a copy.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with FileLock(shared / "built.lock"):
        original = shared / "built"
        if not original.exists():
            original_clone(shared / "building").folder.rename(original)
    clone = Clone.at(original).copied_to(tmp_path_factory.mktemp("clone") / "vignette")
    yield clone
    clone.vignette("server", "stop")


def original_clone(folder: Path) -> Clone:
    shutil.rmtree(folder, ignore_errors=True)  # of a worker whose run of the DAG failed
    folder.mkdir()
    clone = Clone(folder)
    clone.set_params(**FEW_RECORDS)
    clone.vignette("repro")
    clone.git("add", "-A")
    clone.git("commit", "-qm", "built")
    clone.vignette("server", "stop")
    return clone
