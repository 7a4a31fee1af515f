"""``vignette publish``: an archive for Zenodo and a commit to a Hugging Face repository, of unchanged exports only."""

import json
import shutil
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import httpx
import huggingface_hub
import pytest
import yaml
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from flows.commands.exchange import publish as main
from schemas.errors import SourceError
from schemas.params.records import Export
from tasks.dataset.export import CHECKSUMS, checksums
from tasks.dataset.release import archive
from tests.dataset.test_export import EXPORT, FILES, KEPT, exported
from tests.support.imports import ROOT
from tests.support.repository import write_files

COMMIT = "https://hub.example/datasets/someone/notes/commit/c0ffee"


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with params and an exported dataset."""
    monkeypatch.chdir(tmp_path)
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    Path("params.yaml").write_text(yaml.safe_dump(params | {"export": EXPORT.model_dump()}))
    shutil.copy2(ROOT / "dvc.yaml", "dvc.yaml")
    write_files(Path("data/export/dataset"), FILES)
    return tmp_path


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hub's client, which records what it is asked for; arguments that the real one would refuse are an error."""
    client = create_autospec(HfApi, instance=True)
    client.create_commit.return_value.commit_url = COMMIT
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: client)
    return client


def test_the_archive_holds_the_exported_files_and_has_the_same_bytes_each_time() -> None:
    main(Path("first"))
    main(Path("second"))
    name = "vignette-notes-1.0.0.zip"
    assert Path("first", name).read_bytes() == Path("second", name).read_bytes()
    with zipfile.ZipFile(Path("first", name)) as packed:
        assert {entry: packed.read(f"vignette-notes-1.0.0/{entry}") for entry in FILES} == FILES
        assert len(packed.namelist()) == len(FILES)


def test_a_dataset_too_small_for_all_splits_is_published_with_those_that_it_has() -> None:
    write_files(Path("data/export/dataset"), (few := exported(KEPT.head(1))))
    Path("data/export/dataset/data/validation.parquet").unlink()
    Path("data/export/dataset/data/test.parquet").unlink()
    assert [name for name in few if name.startswith("data/")] == ["data/train.parquet"]
    main(Path("out"))
    assert "| train | 1 |" in Path("data/export/dataset/README.md").read_text()


def test_a_folder_with_a_file_of_the_users_is_refused() -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    with pytest.raises(SourceError, match=r"mine: holds notes\.txt, which no export of kind publication wrote"):
        main(Path("mine"))
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_zenodos_metadata_names_creators_licence_and_what_wrote_the_notes() -> None:
    main(Path("out"))
    metadata = json.loads(Path("out/.zenodo.json").read_text())
    assert metadata["creators"] == [{"name": "Doe, Jane"}]
    assert (metadata["upload_type"], metadata["license"], metadata["version"]) == ("dataset", "cc-by-4.0", "1.0.0")
    assert "simulator's rules" in metadata["description"]


@pytest.mark.parametrize("public", [False, True])
def test_a_push_commits_every_file_to_a_repository_that_is_public_on_request_only(
    hub: Any, public: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    main(push="someone/notes", public=public)
    hub.create_repo.assert_called_once_with("someone/notes", repo_type="dataset", private=not public, exist_ok=True)
    ((repository, operations), settings) = hub.create_commit.call_args
    assert {one.path_in_repo: one.path_or_fileobj for one in operations} == FILES and repository == "someone/notes"
    assert settings == {"commit_message": "vignette-notes 1.0.0", "repo_type": "dataset"}
    printed = capsys.readouterr()
    assert f"pushed: {COMMIT}" in printed.out and "export.url is the placeholder" in printed.out


@pytest.mark.parametrize(("status", "remedy"), [(401, "set HF_TOKEN"), (404, "check the name"), (500, "push again")])
def test_a_refusal_is_an_error_with_the_remedy(hub: Any, status: int, remedy: str) -> None:
    reply = httpx.Response(status, request=httpx.Request("POST", "https://hub.example"))
    hub.create_repo.side_effect = HfHubHTTPError(f"{status} of the hub", response=reply)
    with pytest.raises(SourceError, match=rf"was not pushed \({status} of the hub\); .*{remedy}"):
        main(push="someone/notes")
    assert not hub.create_commit.called


def test_a_changed_file_and_outdated_metadata_are_refused() -> None:
    Path("data/export/dataset/SimSUM.csv").write_text("edited")
    with pytest.raises(SourceError, match=r"the exported SimSUM\.csv is .*dvc checkout"):
        main(Path("out"))
    write_files(Path("data/export/dataset"), FILES)
    Path("params.yaml").write_text(Path("params.yaml").read_text().replace("version: 1.0.0", "version: 1.1.0"))
    with pytest.raises(SourceError, match=r"export\.version is '1\.1\.0', the exported dataset says '1\.0\.0'"):
        main(Path("out"))
    assert not Path("out").exists()


def test_notes_of_other_owners_are_not_published(hub: Any) -> None:
    files = exported(KEPT.assign(provenance=["published", *KEPT["provenance"][1:]]))
    write_files(Path("data/export/dataset"), files)
    with pytest.raises(SourceError, match=r"the notes were read from write\.published"):
        main(push="someone/notes")
    assert hub.mock_calls == []


def test_checksums_of_a_dataset_without_them_are_missed() -> None:
    Path("data/export/dataset", CHECKSUMS).unlink()
    with pytest.raises(SourceError, match=f"no {CHECKSUMS}"):
        main(Path("out"))
    assert checksums({"a": b""}).startswith("e3b0c442")


def test_nothing_to_do_and_nothing_exported_are_said() -> None:
    with pytest.raises(SourceError, match="give --out FOLDER"):
        main()
    shutil.rmtree("data")
    with pytest.raises(SourceError, match="no such folder; stage export makes it; run: vignette repro export"):
        main(Path("out"))


def test_entries_of_the_archive_have_the_earliest_time_that_a_zip_file_can_hold() -> None:
    with zipfile.ZipFile(BytesIO(archive(Export(), {"a.txt": b"x", "b/c.txt": b"y"}))) as packed:
        assert {entry.date_time for entry in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
