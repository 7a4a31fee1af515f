"""Fixtures shared by all tests."""

from tasks.transport.instructions import use_instruction_set

use_instruction_set("avx2")  # before NumPy is imported: some tests recompute committed tables

import gc
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml

# libyaml's parser reads the same ten times faster; Python's took a twelfth of the time of all tests.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
gc.disable()  # while modules are imported, all of which stay: a quarter of the time to collect the tests

ENCODE = (
    "tests/snapshots/test_default.py",
    "tests/encoder/",
    "tests/transport/test_instructions.py",
    "tests/stages/test_released.py",
)
FIRST = (
    "tests/dag/test_whole_dag.py",
    "tests/dag/test_lived.py",  # copies the clone before other tests start its server
    "tests/dag",
    "tests/snapshots/test_published.py",
    *ENCODE,
    "tests/rebuild/",
    "tests/cassettes",
)
"""What takes longest, in the order in which it begins."""
TOGETHER = (
    ("tests/dag/",),
    ("tests/browser/",),
    ("tests/rebuild/",),
    ("tests/architecture/",),
    ENCODE,
)
HANGS_S = 300
"""A test that runs no DAG and takes longer hangs; on two cores shared by three processes the slowest takes 45 s."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal modules out to the workers; those that share a clone, a browser, a server, code or an encoder go to one."""
    from xdist.scheduler import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((names[0] for names in TOGETHER if nodeid.startswith(names)), nodeid.split("::")[0])

    return ByModule(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that the workers end together (``--no-loadscope-reorder``)."""

    def place(item: pytest.Item) -> int:
        return next((at for at, name in enumerate(FIRST) if item.nodeid.startswith(name)), len(FIRST))

    items.sort(key=place)
    for item in items:
        if not any(item.get_closest_marker(long) for long in ("dag", "outside", "soak", "llm", "timeout")):
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
