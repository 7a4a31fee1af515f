"""``vignette exchange publish``: a commit to a Hugging Face repository, of unchanged exports only."""

import shutil
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
from tests.dataset.test_export import EXPORT, KEPT, export_files, exported
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
    write_files(Path("data/export/dataset"), export_files())
    return tmp_path


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hub's client, which records what it is asked for; arguments that the real one would refuse are an error."""
    client = create_autospec(HfApi, instance=True)
    client.create_commit.return_value.commit_url = COMMIT
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: client)
    return client


def test_a_dataset_too_small_for_all_splits_is_published_with_those_that_it_has(hub: Any) -> None:
    write_files(Path("data/export/dataset"), (few := exported(KEPT.head(1))))
    Path("data/export/dataset/data/validation.parquet").unlink()
    Path("data/export/dataset/data/test.parquet").unlink()
    assert [name for name in few if name.startswith("data/")] == ["data/train.parquet"]
    main("someone/notes")
    committed = {one.path_in_repo for one in hub.create_commit.call_args.args[1]}
    assert {name for name in committed if name.startswith("data/")} == {"data/train.parquet"}
    assert "| train | 1 |" in few["README.md"].decode()


@pytest.mark.parametrize("public", [False, True])
def test_a_push_commits_every_file_to_a_repository_that_is_public_on_request_only(
    hub: Any, public: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    main("someone/notes", public=public)
    hub.create_repo.assert_called_once_with("someone/notes", repo_type="dataset", private=not public, exist_ok=True)
    ((repository, operations), settings) = hub.create_commit.call_args
    assert {
        one.path_in_repo: one.path_or_fileobj for one in operations
    } == export_files() and repository == "someone/notes"
    assert settings == {"commit_message": "vignette-notes 1.0.0", "repo_type": "dataset"}
    printed = capsys.readouterr()
    assert f"pushed: {COMMIT}" in printed.out and "export.url is the placeholder" in printed.out


@pytest.mark.parametrize(("status", "remedy"), [(401, "set HF_TOKEN"), (404, "check the name"), (500, "push again")])
def test_a_refusal_is_an_error_with_the_remedy(hub: Any, status: int, remedy: str) -> None:
    reply = httpx.Response(status, request=httpx.Request("POST", "https://hub.example"))
    hub.create_repo.side_effect = HfHubHTTPError(f"{status} of the hub", response=reply)
    with pytest.raises(SourceError, match=rf"was not pushed \({status} of the hub\); .*{remedy}"):
        main("someone/notes")
    assert not hub.create_commit.called


def test_a_changed_file_and_outdated_metadata_are_refused(hub: Any) -> None:
    Path("data/export/dataset/SimSUM.csv").write_text("edited")
    with pytest.raises(SourceError, match=r"the exported SimSUM\.csv is .*dvc checkout"):
        main("someone/notes")
    write_files(Path("data/export/dataset"), export_files())
    Path("params.yaml").write_text(Path("params.yaml").read_text().replace("version: 1.0.0", "version: 1.1.0"))
    with pytest.raises(
        SourceError, match=r"citation '.* version 1\.1\.0 .*', the card .* says '.* version 1\.0\.0 .*repro"
    ):
        main("someone/notes")
    assert hub.mock_calls == []


def test_notes_of_other_owners_are_not_published(hub: Any) -> None:
    files = exported(KEPT.assign(provenance=["published", *KEPT["provenance"][1:]]))
    write_files(Path("data/export/dataset"), files)
    with pytest.raises(SourceError, match=r"the notes were read from write\.published"):
        main("someone/notes")
    assert hub.mock_calls == []
