"""Fixtures shared by all tests."""

from tasks.transport.instructions import use_instruction_set

use_instruction_set("avx2")  # before NumPy is imported: some tests recompute committed tables

import gc
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock

from tests.support.clone import SMALL, Clone
from tests.support.shared import shared_folder

# libyaml's parser reads the same ten times faster; Python's took a twelfth of the time of all tests.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
gc.disable()  # while modules are imported, all of which stay: a quarter of the time to collect the tests

FIRST = (
    "tests/dag/test_whole_dag.py",
    "tests/snapshots/test_default.py",
    "tests/dag/test_cassette.py",
    "tests/dag/test_new_stage.py",
)
LONG = ("tests/snapshots/test_published.py", "tests/dag/test_dask.py")  # the last is started first
HANGS_S = 300
"""A test that runs no DAG and takes longer hangs; on two cores shared by three processes the slowest takes 45 s."""
FEW_RECORDS: dict[str, Any] = {
    **SMALL,
    "sample__records": 12,
    "visits__patients": 4,
    "summarise__patients": 3,
    "summarise__judged": 1,
    "baselines__neural__least_rows": 200,
    "baselines__processes": 1,
    "baselines__calibration_folds": 2,
    "baselines__xgboost__folds": 2,
}
"""Params of the whole DAG. A stage that reads none of them and whose outputs are in git is not run."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal modules out to the workers."""
    from xdist.scheduler import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid.split("::")[0]

    return ByModule(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the modules so that two workers finish together (``--dist loadscope --no-loadscope-reorder``).

    The first worker builds the DAG, while the other runs the DAG tests that do not need it and then other modules.
    The tests that need the built DAG come after a third of these.
    """
    module = {item: item.nodeid.split("::")[0] for item in items}
    others = [item for item in items if item.get_closest_marker("dag") is None]
    third = module[others[len(others) // 3]] if others else ""

    def place(item: pytest.Item) -> tuple[int, int]:
        if module[item] in FIRST:
            return 0, FIRST.index(module[item])
        if item.get_closest_marker("dag") is not None:
            return 2, -LONG.index(module[item]) if module[item] in LONG else 1
        return (1 if module[item] < third else 3), 0

    items.sort(key=place)
    for item in items:
        if not any(item.get_closest_marker(long) for long in ("dag", "soak", "llm", "timeout")):
            item.add_marker(pytest.mark.timeout(HANGS_S))


def pytest_collection_finish() -> None:
    """Collect garbage again, but never visit what was imported."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def one_encoder() -> Iterator[None]:
    """Load each encoder once for all tests that only use its vectors."""
    module = sys.modules.get("tasks.encoder.encoder")
    with pytest.MonkeyPatch.context() as patch:
        if module is not None:
            patch.setattr(module, "load_encoder", cache(module.load_encoder))
        yield


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A scratch clone in which the whole DAG has run on few records. Tests must leave it unchanged.

    The DAG runs once for all workers; each gets a copy.
    """
    shared = shared_folder(tmp_path_factory)
    with FileLock(shared / "built.lock"):
        original = shared / "built"
        if not original.exists():
            original_clone(shared / "building").folder.rename(original)
    clone = Clone.at(original).copied_to(tmp_path_factory.mktemp("clone") / "vignette")
    yield clone
    clone.vignette("server", "stop")


def original_clone(folder: Path) -> Clone:
    shutil.rmtree(folder, ignore_errors=True)  # of a worker whose run of the DAG failed
    clone = Clone(folder)
    clone.set_params(**FEW_RECORDS)
    clone.vignette("repro")
    clone.commit("built")
    clone.vignette("server", "stop")
    return clone
