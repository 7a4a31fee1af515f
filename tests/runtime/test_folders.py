"""An export replaces what an earlier export of its kind wrote, and no other file."""

import json
import os
from pathlib import Path

import pytest

from flows.commands import exchange
from flows.commands.parser import run
from flows.repository.workspace import WORKSPACE
from flows.runtime.folders import MARKER, PARTIAL, require_replaceable, write_export, write_new_file
from schemas.errors import SourceError
from tasks.exchange.annotated import AnnotatedText, LabelledSpan

OLD = {"a.txt": b"old", "sub/b.txt": b"b"}


def held(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if path.name != MARKER}


def test_a_new_folder_is_made_and_an_empty_one_is_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("new/inner", "empty"):
        write_export(tmp_path / name, OLD, "brat")
        assert held(tmp_path / name) == OLD


@pytest.mark.parametrize(
    "name", ["../a.txt", "/ABSOLUTE/a.txt", "sub/../../a.txt", "..", "", "a\0", MARKER, f"{PARTIAL}/a"]
)
def test_no_name_leaves_the_folder_or_replaces_the_list_of_its_files(tmp_path: Path, name: str) -> None:
    name = name.replace("/ABSOLUTE", str(tmp_path / "outside"))
    with pytest.raises(SourceError, match="is no name of a file in it; rename what it is named after"):
        write_export(tmp_path / "out", {"b.txt": b"b", name: b"outside"}, "brat")
    assert list(tmp_path.iterdir()) == []


def test_a_record_of_a_dataset_names_no_file_outside_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = AnnotatedText("../../mine-normal", "Cough.", (LabelledSpan(0, 5, "cough", "present"),))
    monkeypatch.setattr(exchange, "extracted_texts", lambda *_: [text])
    with pytest.raises(SourceError, match=r"out: '\.\./\.\./mine-normal\.\w+' is no name of a file"):
        exchange.write("brat", Path("a/out"), "normal", Path("dataset"))
    assert list(tmp_path.iterdir()) == []


def test_a_second_export_replaces_the_files_of_the_first_and_leaves_no_empty_folder(tmp_path: Path) -> None:
    write_export(tmp_path, OLD, "brat")
    write_export(tmp_path, {"a.txt": b"new", "c.txt": b"c"}, "brat")
    assert held(tmp_path) == {"a.txt": b"new", "c.txt": b"c"} and not (tmp_path / "sub").exists()


def test_a_folder_with_other_files_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    for number, name in enumerate(("thesis.docx", "chapters/one.tex", ".hidden")):
        folder = tmp_path / str(number)
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("mine")
        with pytest.raises(
            SourceError, match=rf"holds {name}, which no export of kind brat wrote; name a new or empty"
        ):
            write_export(folder, OLD, "brat")
        assert held(folder) == {name: b"mine"}


def test_a_file_that_was_added_or_changed_since_is_kept(tmp_path: Path) -> None:
    write_export(tmp_path, OLD, "brat")
    (tmp_path / "sub/b.txt").write_bytes(b"corrected by hand")
    with pytest.raises(SourceError, match=r"sub/b\.txt changed since written; move away what you changed or name"):
        write_export(tmp_path, OLD, "brat")
    (tmp_path / "a.txt").write_bytes(b"too")
    with pytest.raises(SourceError, match=r": a\.txt, sub/b\.txt changed since written"):
        write_export(tmp_path, OLD, "brat")
    (tmp_path / "a.txt").write_bytes(OLD["a.txt"])
    (tmp_path / "sub/b.txt").write_bytes(b"b")
    (tmp_path / "sub/notes.txt").write_text("mine")
    with pytest.raises(SourceError, match=r"holds sub/notes\.txt, which no export"):
        write_export(tmp_path, OLD, "brat")
    assert (tmp_path / "sub/notes.txt").read_text() == "mine"


def test_an_export_of_another_kind_is_kept(tmp_path: Path) -> None:
    write_export(tmp_path, OLD, "brat")
    with pytest.raises(SourceError, match="is an export of kind brat; name another folder"):
        write_export(tmp_path, OLD, "label-studio")


def test_a_link_in_place_of_a_file_is_a_change(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_bytes(b"old")
    write_export(tmp_path / "out", OLD, "brat")
    (tmp_path / "out/a.txt").unlink()
    (tmp_path / "out/a.txt").symlink_to(mine)
    with pytest.raises(SourceError, match=r"a\.txt changed since"):
        write_export(tmp_path / "out", {"a.txt": b"new"}, "brat")
    assert mine.read_bytes() == b"old"


def test_the_working_directory_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for content in (b"one", b"two"):
        write_export(Path(), {"a.txt": content}, "brat")
        assert Path("a.txt").read_bytes() == content and Path().samefile(tmp_path)


def kill_after(monkeypatch: pytest.MonkeyPatch, moved: int) -> None:
    """A kill before a further file is moved into place."""
    left, replace = iter(range(moved)), Path.replace

    def killed(source: Path, target: Path) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(Path, "replace", killed)


@pytest.mark.parametrize("moved", [0, 1])
def test_an_export_that_was_killed_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int) -> None:
    write_export(tmp_path, OLD, "brat")
    kill_after(monkeypatch, 1 + moved)  # the marker is the first
    with pytest.raises(KeyboardInterrupt):
        write_export(tmp_path, {"a.txt": b"new", "d/e.txt": b"e"}, "brat")
    monkeypatch.undo()
    (tmp_path / PARTIAL).mkdir()
    (tmp_path / PARTIAL / "a.txt").write_text("left by a process that was killed")
    write_export(tmp_path, {"a.txt": b"newer"}, "brat")
    assert held(tmp_path) == {"a.txt": b"newer"} and not (tmp_path / PARTIAL).exists()


def test_a_full_disk_is_an_error_and_keeps_the_first_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_export(tmp_path, OLD, "brat")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(SourceError, match=r"could not be written: No space left on device"):
        write_export(tmp_path, {"a.txt": b"new"}, "brat")
    monkeypatch.undo()
    assert held(tmp_path) == OLD
    require_replaceable(tmp_path, "brat")


def test_a_file_and_a_folder_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match="is a file; name a folder"):
        require_replaceable(tmp_path / "file", "brat")
    with pytest.raises(SourceError, match=r"cannot be created in .*file"):
        require_replaceable(tmp_path / "file" / "below", "brat")


@pytest.mark.parametrize("name", [MARKER, "a.txt"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    write_export(tmp_path, OLD, "brat")
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(SourceError, match=r"holds a\.txt, sub|a\.txt changed since written"):
        write_export(tmp_path, OLD, "brat")
    assert (tmp_path / "sub" / "b.txt").read_bytes() == b"b"


def test_a_marker_of_someone_else_is_not_trusted(tmp_path: Path) -> None:
    mine, folder = tmp_path / "mine.txt", tmp_path / "out"
    folder.mkdir()
    for content in (
        "{",
        "[]",
        "[" * 100_000,
        json.dumps({"kind": "brat"}),
        json.dumps({"kind": "brat", "files": {"../mine.txt": []}}),
    ):
        mine.write_text("mine")
        (folder / MARKER).write_text(content)
        write_export(folder, OLD, "brat")
        assert mine.exists() and held(folder) == OLD
        (folder / "mine.txt").write_text("mine")
        (folder / MARKER).write_text(content)
        with pytest.raises(SourceError, match="holds"):
            write_export(folder, OLD, "brat")
        (folder / "mine.txt").unlink()
        for name in OLD:
            (folder / name).unlink()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with state of its own."""
    monkeypatch.setenv(WORKSPACE, str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


NAMING_A_FILE = (
    "exchange read corrected.json label-studio --out FILE",
    "store export FILE",
    "agreement scores.csv --human score --out FILE",
)


@pytest.mark.parametrize("command", NAMING_A_FILE)
def test_no_command_replaces_a_file_that_it_did_not_write(
    command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.bif").write_text("mine")
    assert run(command.replace("FILE", "mine.bif").split()) == 1
    said = capsys.readouterr().err
    assert "mine.bif: exists, and vignette" in said and "name another file or move it away" in said
    assert {path.name: path.read_text() for path in here.iterdir()} == {"mine.bif": "mine"}


def test_a_kind_of_export_replaces_its_own_file_until_somebody_changes_it(here: Path) -> None:
    file = Path("sub/made.csv")
    for content in (b"first", b"second"):
        write_new_file(file, content, "mine")
        assert file.read_bytes() == content
    with pytest.raises(SourceError, match="other did not write it"):
        write_new_file(file, b"new", "other")
    file.write_text("corrected")
    with pytest.raises(SourceError, match="mine did not write it or it changed since"):
        write_new_file(file, b"third", "mine")
    assert file.read_text() == "corrected"


def test_a_write_that_was_killed_leaves_a_file_that_can_be_replaced(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_new_file(Path("a.csv"), b"old", "x")
    for content in (b"new", b"another"):
        kill_after(monkeypatch, 1)  # the list of written files is the first
        with pytest.raises(KeyboardInterrupt):
            write_new_file(Path("a.csv"), content, "x")
        monkeypatch.undo()
        monkeypatch.chdir(here)
        monkeypatch.setenv(WORKSPACE, str(here.parent / "state"))
    assert Path("a.csv").read_bytes() == b"old"
    write_new_file(Path("a.csv"), b"newer", "x")
    assert [path.name for path in here.iterdir()] == ["a.csv"] and Path("a.csv").read_bytes() == b"newer"


def test_a_folder_in_place_of_a_file_is_refused_and_a_device_is_written(here: Path) -> None:
    with pytest.raises(SourceError, match="is a folder; name a file"):
        write_new_file(here, b"", "x")
    write_new_file(Path("/dev/null"), b"anything", "x")
