"""What is no dvc.lock is refused."""

import pytest

from flows.repository.lock import parse_lock
from schemas.errors import VignetteError


@pytest.mark.parametrize(
    "content", ["stages: [", "a: &a [*a]", "<<<<<<< HEAD\n", "stages: []", "stages: {write: 1}", "7"]
)
def test_what_is_no_lock_is_one_line(content: str) -> None:
    with pytest.raises(VignetteError, match=r"^main: dvc\.lock: .*restore it from git$"):
        parse_lock(content, "main: dvc.lock")
