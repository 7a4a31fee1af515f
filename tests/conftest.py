"""Fixtures shared by all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clone import Clone

FEW_RECORDS = {"sample__records": 60, "report__notes": 20, "baselines__neural__least_rows": 200}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    """A scratch clone in which the whole DAG has run on few records. Tests leave it as they found it."""
    folder: Path = tmp_path_factory.mktemp("clone") / "vignette"
    folder.mkdir()
    clone = Clone(folder)
    clone.set_params(**FEW_RECORDS)
    clone.vignette("repro")
    clone.git("add", "-A")
    clone.git("commit", "-qm", "built")
    yield clone
    clone.vignette("server", "stop")
