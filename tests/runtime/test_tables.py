"""Tables are validated and written atomically."""

import errno
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from flows.runtime import tables
from flows.runtime.tables import read_table, write_folder, write_table
from schemas.errors import TableError
from schemas.tables.records import COMPACT_NOTES
from tests.support.imports import ROOT

GOOD = pd.DataFrame({"record": [0, 1], "compact": ["Pt well.", "No c/o."], "provenance": ["rules", "rules"]})


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_written_table_is_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "inner" / f"compact_notes.{ending}"
    write_table(GOOD, path, COMPACT_NOTES)
    pd.testing.assert_frame_equal(read_table(path, COMPACT_NOTES), GOOD)


@pytest.fixture
def two_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROWS", 2)


FIVE = pd.DataFrame({"record": range(5), "compact": ["a", "b", "c", "d", "e"], "provenance": "rules"})


@pytest.mark.usefixtures("two_rows_at_once")
def test_a_large_table_is_written_in_row_groups_and_read_back(tmp_path: Path) -> None:
    write_table(FIVE, tmp_path / "notes.parquet", COMPACT_NOTES)
    groups = pq.read_metadata(tmp_path / "notes.parquet")
    assert [groups.row_group(number).num_rows for number in range(groups.num_row_groups)] == [2, 2, 1]
    pd.testing.assert_frame_equal(read_table(tmp_path / "notes.parquet", COMPACT_NOTES), FIVE)


@pytest.mark.usefixtures("two_rows_at_once")
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (FIVE.assign(record=[0, 1, 2, -3, 4]), ["column record", "-3", "(row 3)"]),
        (FIVE.assign(record=[0, 1, 2, 3, 0]), ["record", "(row 4)"]),  # the key, in different parts
    ],
)
def test_the_rows_of_a_large_table_are_checked_in_all_parts(
    tmp_path: Path, bad: pd.DataFrame, words: list[str]
) -> None:
    bad.to_parquet(tmp_path / "notes.parquet", row_group_size=2)
    with pytest.raises(TableError) as read:
        read_table(tmp_path / "notes.parquet", COMPACT_NOTES)
    with pytest.raises(TableError) as written:
        write_table(bad, tmp_path / "new.parquet", COMPACT_NOTES)
    for word in words:
        assert word in str(read.value) and word in str(written.value)


def test_some_columns_are_read_in_the_order_asked_for_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    write_table(FIVE, path, COMPACT_NOTES)
    pd.testing.assert_frame_equal(read_table(path, COMPACT_NOTES, ["compact"]), FIVE[["compact"]])
    FIVE.assign(record=[0, 1, 2, 3, 0]).to_parquet(path)
    with pytest.raises(TableError, match=r"record.*\(row 4\)"):
        read_table(path, COMPACT_NOTES, ["record"])
    FIVE.drop(columns="compact").to_parquet(path)
    with pytest.raises(TableError, match=r"missing \['compact'\]"):
        read_table(path, COMPACT_NOTES, ["record"])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (GOOD.rename(columns={"compact": "short"}), ["missing ['compact']", "unexpected ['short']", "compact_notes"]),
        (GOOD.assign(compact=[None, "x"]), ["compact", "row 0"]),
        (GOOD.assign(record=[1, 1]), ["record"]),
        (GOOD.assign(record=[-1, 1]), ["record", "-1"]),
        (GOOD.astype({"record": "float64"}), ["record", "int64"]),
    ],
)
def test_a_bad_table_is_refused_with_column_and_row(tmp_path: Path, bad: pd.DataFrame, words: list[str]) -> None:
    path = tmp_path / "compact_notes.parquet"
    bad.to_parquet(path)
    with pytest.raises(TableError) as caught:
        read_table(path, COMPACT_NOTES)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_the_error_on_a_file_that_is_no_table_names_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "compact_notes.parquet"
    path.write_bytes(b"not parquet")
    with pytest.raises(TableError, match="dvc checkout"):
        read_table(path, COMPACT_NOTES)
    with pytest.raises(TableError, match=r"run the stage that makes it \(vignette repro\)"):
        read_table(tmp_path / "absent.parquet", COMPACT_NOTES)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("data/compact/compact_notes.parquet", "stage compact makes it; run: vignette repro compact"),
        ("data/export/dataset/notes.parquet", "stage export makes it; run: vignette repro export"),
        (
            "data/published/tables/expert_ratings.csv",
            "stage review_published makes it; run: vignette repro --pipeline reports/published/dvc.yaml",
        ),
    ],
)
def test_a_missing_table_is_named_with_its_stage_and_the_command(
    path: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pipeline in ("dvc.yaml", "params.yaml", "reports/published/dvc.yaml"):
        (tmp_path / pipeline).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / pipeline, tmp_path / pipeline)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableError, match=f"{path}: no such file; {words}"):
        read_table(Path(path), COMPACT_NOTES)
    with pytest.raises(TableError, match=words):
        read_table(tmp_path / path, COMPACT_NOTES)


def test_a_full_disk_leaves_the_old_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "compact_notes.parquet"
    write_table(GOOD, path, COMPACT_NOTES)

    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(TableError, match="No space left on device"):
        write_table(GOOD.assign(compact="other"), path, COMPACT_NOTES)
    monkeypatch.undo()
    pd.testing.assert_frame_equal(read_table(path, COMPACT_NOTES), GOOD)
    assert [file.name for file in tmp_path.iterdir()] == ["compact_notes.parquet"]


def test_a_folder_contains_only_the_last_files_written(tmp_path: Path) -> None:
    folder = tmp_path / "forms"
    write_folder(folder, {"a.html": b"a", "data/b.csv": b"b"})
    (folder / ".c.html.1.partial").write_bytes(b"left by a kill")
    write_folder(folder, {"a.html": b"new"})
    assert [path.name for path in folder.rglob("*")] == ["a.html"]
    assert [path.name for path in tmp_path.iterdir()] == ["forms"]


def test_a_full_disk_leaves_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "forms"
    write_folder(folder, {"a.html": b"old"})
    rename = Path.replace

    def full(path: Path, target: Path) -> Path:
        if path.name.endswith(".partial"):
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(TableError, match="forms: could not be written"):
        write_folder(folder, {"a.html": b"new"})
    assert (folder / "a.html").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["forms"]
