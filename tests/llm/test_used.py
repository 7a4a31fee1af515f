"""The cost of the replies that a run used."""

from pathlib import Path

import pytest

from tasks.llm import used
from tasks.llm.store import ResponseStore
from tasks.llm.used import Used, sum_used
from tests.support.stored import paid


def test_each_kept_reply_counts_once_and_a_missing_one_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(used, "_AT_ONCE", 2)  # several statements
    with ResponseStore(tmp_path / "s.sqlite") as store:
        for number in range(6):
            store.do_now(paid(number).insert)
        keys = {paid(number).key for number in (0, 1, 2, 3, 4)} | {b"?" * 32}
        assert store.do_now(lambda c: sum_used(c, keys)) == Used(5, 50, 100, pytest.approx(2.5))
        assert store.do_now(lambda c: sum_used(c, [])) == Used(0, 0, 0, 0.0)
