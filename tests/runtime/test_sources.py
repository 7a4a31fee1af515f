"""Outside data is known by content, not by path, and a stage depends on the files that it reads only."""

import asyncio
import shutil
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.repro import PUBLISHED, record_all_sources, source_readers
from flows.repository.params import load_params
from flows.repository.pipeline import stage_files
from flows.runtime.sources import VARIABLE, SourceFolder, declared_sources, read_hashes, record_sources, sources_folder
from flows.runtime.stage import Stage
from flows.stages import span_review
from schemas.errors import SourceError
from tests.support.imports import ROOT
from tests.support.params import shipped
from tests.support.repository import write_files

FILES = ["a.csv", "simsum/b.csv", "simsum/absent.csv"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "simsum").mkdir(parents=True)
    (tmp_path / "data" / "simsum" / "b.csv").write_text("x\n1\n")
    (tmp_path / "data" / "a.csv").write_text("y\n2\n")
    return tmp_path / "data"


def test_same_content_elsewhere_is_the_same_fingerprint(folder: Path, tmp_path: Path) -> None:
    fingerprint = tmp_path / "stage.json"
    assert record_sources(folder, FILES, fingerprint)
    first = fingerprint.read_bytes()
    assert list(read_hashes(fingerprint)) == ["a.csv", "simsum/b.csv"]
    folder.rename(tmp_path / "elsewhere")
    assert not record_sources(tmp_path / "elsewhere", FILES, fingerprint)
    assert fingerprint.read_bytes() == first


def test_the_environment_variable_takes_precedence_over_params(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(folder))
    assert sources_folder("/from/params", []) == folder
    monkeypatch.delenv(VARIABLE)
    assert sources_folder(str(folder), []) == folder
    assert sources_folder(None, [folder / "none.json"]) is None


def test_results_on_outside_data_are_not_replaced_by_empty_tables(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    record_sources(folder, FILES, tmp_path / "stage.json")
    with pytest.raises(SourceError, match="make published SOURCES=folder"):
        sources_folder(None, [tmp_path / "none.json", tmp_path / "stage.json"])
    with pytest.raises(SourceError, match="nowhere: no such folder"):
        sources_folder(str(tmp_path / "nowhere"), [])


@pytest.fixture
def outside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every file that a stage declares, recorded in a working directory with the shipped pipeline."""
    work = folder.parent / "work"
    (work / PUBLISHED.parent).mkdir(parents=True)
    for name in (str(PUBLISHED), "params.yaml"):
        shutil.copyfile(ROOT / name, work / name)
    monkeypatch.chdir(work)
    monkeypatch.setenv(VARIABLE, str(folder))
    params = load_params()
    declared = {name for stage in source_readers() for name in declared_sources(stage, params)}
    write_files(folder, {name: name for name in declared})
    assert record_all_sources(params) == source_readers()
    return folder


def test_a_file_that_no_stage_reads_makes_none_stale(outside: Path) -> None:
    (outside / "simsum" / "evaluator_6.csv").write_text("new")
    (outside / "notes.txt").write_text("new")
    assert record_all_sources(load_params()) == []


@pytest.mark.parametrize(
    ("file", "reader"),
    [
        ("simsum/evaluator_1.csv", "review_published"),
        ("aci_bench/test1.csv", "doclens_published"),
        ("ehrnoteqa/discharge.csv", "note_qa_outside"),
    ],
)
@pytest.mark.parametrize("gone", [False, True], ids=["changed", "gone"])
def test_a_changed_file_makes_its_readers_stale_and_no_other_stage(
    outside: Path, file: str, reader: str, gone: bool
) -> None:
    readers = [stage for stage in source_readers() if file in declared_sources(stage, load_params())]
    assert reader in readers
    (outside / file).unlink() if gone else (outside / file).write_text("changed")
    assert record_all_sources(load_params()) == readers


def test_files_named_by_params_are_declared() -> None:
    assert "mine/outputs.csv" in declared_sources(
        "doclens_published", shipped(doclens={"systems": {"mine": "mine/outputs.csv"}})
    )


def test_a_stage_that_opens_an_undeclared_file_gets_an_error_that_names_it(
    outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(stage_files(PUBLISHED, "span_quality"), load_params())
    monkeypatch.setattr(span_review, "read_counts", lambda folder: pd.read_csv(folder / "simsum" / "evaluator_1.csv"))
    with pytest.raises(SourceError, match=r"stage span_quality opens .*simsum/evaluator_1\.csv, which it does not"):
        asyncio.run(span_review.run_span_quality(stage))


def test_declared_files_are_reached_in_one_step_or_folder_by_folder(folder: Path) -> None:
    restricted = SourceFolder.of(folder, "mine", [folder / "simsum" / "b.csv"])
    for file in (restricted / "simsum/b.csv", restricted / "simsum" / "b.csv", restricted.joinpath("simsum", "b.csv")):
        assert file.read_text() == "x\n1\n"
    for name in ("a.csv", "simsum/c.csv", "../data/a.csv"):
        with pytest.raises(SourceError, match="add it to reads"):
            restricted / name
