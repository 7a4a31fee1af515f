"""Checks at the boundary of a stage: vectors, unscored rows, other dvc processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flows.repository import processes
from flows.repository.params import load_params
from flows.repository.pipeline import StageFiles
from flows.repository.processes import dvc_at_work, exclusive
from flows.runtime.stage import Stage
from flows.runtime.tables import read_vectors, write_vectors
from schemas.errors import BusyError, TableError, UnscoredError
from tests.support.imports import ROOT
from tests.support.params import shipped


def test_vectors_are_read_as_written_and_other_shapes_or_types_refused(tmp_path: Path) -> None:
    file = tmp_path / "v.npy"
    write_vectors(np.eye(3, dtype=np.float32), file)
    assert np.array_equal(read_vectors(file), np.eye(3))
    for wrong in (np.zeros(3, dtype=np.float32), np.zeros((3, 2))):
        np.save(file, wrong)
        with pytest.raises(TableError, match=r"expected float32 \(n, dimension\)"):
            read_vectors(file)


def test_exactly_the_allowed_share_of_unscored_rows_passes(tmp_path: Path) -> None:
    files = StageFiles("judge", {}, {"unscored_judge": tmp_path / "unscored_judge.parquet"})
    stage = Stage(files, shipped(runtime={"max_unscored_share": 0.5}))
    rows = pd.DataFrame({"record": ["1"], "step": ["facts"], "reason": ["unparsable"], "detail": [""]})
    stage.save_unscored("unscored_judge", rows, of=2)
    with pytest.raises(UnscoredError, match="1 of 1 rows unscored"):
        stage.save_unscored("unscored_judge", rows, of=1)


def test_a_lock_of_a_living_process_counts_and_one_of_a_dead_process_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    locks = tmp_path / ".dvc" / "tmp" / "rwlock"
    locks.parent.mkdir(parents=True)
    assert not dvc_at_work()
    with subprocess.Popen(["dvc", "-c", "input()"], executable=sys.executable, stdin=subprocess.PIPE) as running:
        dead, reused, living = {"pid": 2**22 + 1}, {"pid": os.getpid()}, {"pid": running.pid}
        locks.write_text(json.dumps({"write": {"a": dead}, "read": {"b": [dead, reused]}}))
        assert not dvc_at_work()
        locks.write_text(json.dumps({"write": {"a": dead}, "read": {"b": [dead, living]}}))
        assert dvc_at_work()
        monkeypatch.setattr(processes, "END_S", 0.2)
        with pytest.raises(BusyError, match="another dvc process"), exclusive():
            pass
        running.kill()
    assert not dvc_at_work()
    with exclusive():
        assert not locks.exists()


def test_a_returned_file_of_older_notes_is_skipped_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, form in (("a.json", "new"), ("b.json", "old")):
        (tmp_path / name).write_text(json.dumps({"form": form}))
    (tmp_path / "c.json").write_text("not JSON")
    stage = Stage(StageFiles("review", {"review_returned": tmp_path}, {}), load_params())
    assert list(stage.returned("review_returned", "new")) == ["a.json", "c.json"]  # reading c names what is wrong
    assert "b.json was filled in for form old, the current one is new: skipped" in capsys.readouterr().err
