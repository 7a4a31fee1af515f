"""``vignette publish``: an archive for Zenodo and a commit to a Hugging Face repository, of unchanged exports only."""

import base64
import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from flows.commands.exchange import publish as main
from schemas.errors import SourceError
from schemas.params.records import Export
from tasks.dataset.export import CHECKSUMS, checksums
from tasks.dataset.release import archive
from tests.dataset.test_export import EXPORT, FILES, KEPT, exported
from tests.support.hosted import serving
from tests.support.imports import ROOT
from tests.support.repository import write_files

TOKEN = "hf_0123456789"


@dataclass
class Hub:
    """State of the hub: files of the latest commit by path, large objects by digest, requests in order."""

    address: str = ""
    visibility: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)


@contextmanager
def local_hub() -> Iterator[Hub]:
    """A hub on loopback; parquet files go to large-file storage, as on the real one."""
    hub = Hub()

    async def post(request: Request) -> Response:
        hub.tokens.add(request.headers.get("Authorization"))
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"error": "Invalid username or password."}, 401)
        return JSONResponse(answer(hub, request.url.path, await request.body()))

    async def put(request: Request) -> Response:
        hub.objects[request.path_params["path"].rsplit("/", 1)[1]] = await request.body()
        return JSONResponse({})

    routes = [Route("/{path:path}", post, methods=["POST"]), Route("/{path:path}", put, methods=["PUT"])]
    with serving(Starlette(routes=routes)) as api:
        hub.address = api.removesuffix("/v1")
        yield hub


def answer(hub: Hub, path: str, body: bytes) -> dict[str, Any]:
    """The reply to a request of `huggingface_hub`, after changing the state of the hub."""
    if path == "/api/repos/create":
        asked = json.loads(body)
        name = f"{asked['organization']}/{asked['name']}"
        hub.visibility.setdefault(name, asked.get("visibility", "public"))
        return {"url": f"{hub.address}/datasets/{name}", "name": name}
    if path == "/api/validate-yaml":
        return {"errors": [], "warnings": []}
    if "/preupload/" in path:
        return {"files": [upload_mode(file["path"]) for file in json.loads(body)["files"]]}
    if path.endswith("/info/lfs/objects/batch"):
        return {"transfer": "basic", "objects": [upload(hub, one) for one in json.loads(body)["objects"]]}
    assert "/commit/" in path, path
    commit(hub, [json.loads(line) for line in body.splitlines()])
    return {"commitUrl": f"{hub.address}{path.removeprefix('/api')}".replace("/main", "/c0ffee"), "commitOid": "c0ffee"}


def upload_mode(path: str) -> dict[str, Any]:
    mode = "lfs" if path.endswith(".parquet") else "regular"
    return {"path": path, "uploadMode": mode, "shouldIgnore": False}


def upload(hub: Hub, one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "actions": {"upload": {"href": f"{hub.address}/objects/{one['oid']}"}}}


def commit(hub: Hub, lines: list[dict[str, Any]]) -> None:
    for line in lines:
        value = line["value"]
        if line["key"] == "header":
            hub.messages.append(value["summary"])
        elif line["key"] == "file":
            hub.files[value["path"]] = base64.b64decode(value["content"])
        else:
            hub.files[value["path"]] = hub.objects[value["oid"]]


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
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    with local_hub() as hub:
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", hub.address)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        yield hub


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


def test_a_push_commits_every_file_to_a_private_repository(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    main(push="someone/notes")
    assert hub.files == FILES
    assert hub.visibility == {"someone/notes": "private"} and hub.messages == ["vignette-notes 1.0.0"]
    printed = capsys.readouterr()
    assert f"pushed: {hub.address}/datasets/someone/notes/commit/c0ffee" in printed.out
    assert "export.url is the placeholder" in printed.out
    assert TOKEN not in printed.out + printed.err


def test_a_repository_is_public_on_request_only(hub: Hub) -> None:
    main(push="someone/notes", public=True)
    assert hub.visibility == {"someone/notes": "public"}


def test_a_refused_token_is_an_error_with_the_remedy(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(SourceError, match=r"was not pushed .*401.*; set HF_TOKEN") as error:
        main(push="someone/notes")
    assert "hf_wrong" not in str(error.value) and hub.files == {}


def test_a_changed_file_and_outdated_metadata_are_refused() -> None:
    Path("data/export/dataset/SimSUM.csv").write_text("edited")
    with pytest.raises(SourceError, match=r"the exported SimSUM\.csv is .*dvc checkout"):
        main(Path("out"))
    write_files(Path("data/export/dataset"), FILES)
    Path("params.yaml").write_text(Path("params.yaml").read_text().replace("version: 1.0.0", "version: 1.1.0"))
    with pytest.raises(SourceError, match=r"export\.version is '1\.1\.0', the exported dataset says '1\.0\.0'"):
        main(Path("out"))
    assert not Path("out").exists()


def test_notes_of_other_owners_are_not_published(hub: Hub) -> None:
    files = exported(KEPT.assign(provenance=["published", *KEPT["provenance"][1:]]))
    write_files(Path("data/export/dataset"), files)
    with pytest.raises(SourceError, match=r"the notes were read from write\.published"):
        main(push="someone/notes")
    assert hub.visibility == {}


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
