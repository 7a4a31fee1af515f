"""Outside data is known by content, not by path."""

from pathlib import Path

import pytest

from flows.engine.sources import VARIABLE, read_fingerprint, record_sources, sources_folder
from schemas.errors import SourceError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "simsum").mkdir(parents=True)
    (tmp_path / "data" / "simsum" / "b.csv").write_text("x\n1\n")
    (tmp_path / "data" / "a.csv").write_text("y\n2\n")
    return tmp_path / "data"


def test_same_content_elsewhere_is_the_same_fingerprint(folder: Path, tmp_path: Path) -> None:
    fingerprint = tmp_path / "sources.json"
    assert record_sources(folder, fingerprint)
    first = fingerprint.read_bytes()
    assert list(read_fingerprint(fingerprint)) == ["a.csv", "simsum/b.csv"]
    folder.rename(tmp_path / "elsewhere")
    assert not record_sources(tmp_path / "elsewhere", fingerprint)
    assert fingerprint.read_bytes() == first


def test_a_changed_file_changes_it(folder: Path, tmp_path: Path) -> None:
    fingerprint = tmp_path / "sources.json"
    record_sources(folder, fingerprint)
    before = dict(read_fingerprint(fingerprint))
    (folder / "a.csv").write_text("y\n3\n")
    assert record_sources(folder, fingerprint)
    assert {name for name, digest in read_fingerprint(fingerprint).items() if digest != before[name]} == {"a.csv"}


def test_the_variable_comes_before_params(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(folder))
    assert sources_folder("/from/params", tmp_path / "none.json") == folder
    monkeypatch.delenv(VARIABLE)
    assert sources_folder(str(folder), tmp_path / "none.json") == folder
    assert sources_folder(None, tmp_path / "none.json") is None


def test_results_on_outside_data_are_not_replaced_by_empty_tables(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    record_sources(folder, tmp_path / "sources.json")
    with pytest.raises(SourceError, match="make published SOURCES=folder"):
        sources_folder(None, tmp_path / "sources.json")
    with pytest.raises(SourceError, match="nowhere: no such folder"):
        sources_folder(str(tmp_path / "nowhere"), tmp_path / "sources.json")
