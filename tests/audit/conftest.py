"""Audits of fewer notes than the command's own."""

from collections.abc import Iterator

import pytest

from flows.evaluation import audit


@pytest.fixture(scope="session", autouse=True)
def few_notes() -> Iterator[None]:
    """Small audits have 12 notes of the simulator in place of 30, whose writing takes longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "FEWEST_NOTES", 12)
        yield
