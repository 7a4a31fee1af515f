"""One command lists and runs all others, starts fast, and reports errors on one line."""

import errno
import os
import sqlite3
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from flows.commands import cli, parser
from tests.support.cases import each, from_table
from tests.support.imports import ROOT

HEAVY = {"prefect", "torch", "openai", "pandas", "numpy", "sqlalchemy", "dvc", "mlflow"}


def test_help_lists_each_command_on_one_whole_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert parser.run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, text in parser.COMMANDS.items():
        assert any(line.split() == [name, *text.split()] for line in lines), name


def test_no_framework_is_imported_for_help_as_the_slowest_would_take_seconds() -> None:
    arguments = [["--help"], *([name, "--help"] for name in parser.COMMANDS)]
    code = (
        "import sys; from flows.commands import parser\n"
        f"for arguments in {arguments}:\n"
        "    assert parser.run(arguments) == 0\n"
        f"    assert not {HEAVY} & set(sys.modules), (arguments, {HEAVY} & set(sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


def test_telemetry_is_disabled_before_a_command_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DO_NOT_TRACK"}
    monkeypatch.setattr(os, "environ", environment)
    seen: list[str | None] = []

    def importing(name: str) -> ModuleType:
        seen.append(environment.get("DO_NOT_TRACK"))
        return import_module(name)

    monkeypatch.setattr(parser, "import_module", importing)
    parser.load_command("trial")
    assert seen == ["true"]


@from_table
def test_wrong_usage_is_status_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert parser.run(arguments) == 2
    assert words in capsys.readouterr().err


def test_an_error_is_one_line_with_the_commands_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parser.run(["trial", "--estimate"]) == 1
    assert capsys.readouterr().err == "trial: params.yaml: no such file; run from the repository's root\n"


def test_the_console_script_runs_the_code_of_the_working_directory(tmp_path: Path) -> None:
    commands = tmp_path / "flows" / "commands"
    commands.mkdir(parents=True)
    (tmp_path / "flows" / "__init__.py").touch()
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    (commands / "cli.py").write_text("import sys; print('code of this folder', sys.argv[1:])")
    script = Path(sys.executable).with_name("vignette")
    done = subprocess.run([script, "stage", "x"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "code of this folder ['stage', 'x']\n"
    (tmp_path / "flows" / "__init__.py").unlink()
    done = subprocess.run([script, "--version"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("vignette ")


@pytest.mark.parametrize("file", [None, "reports/x.csv"])
def test_a_full_disk_is_one_line_with_a_remedy(
    file: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> ModuleType:
        raise OSError(errno.ENOSPC, "No space left on device", file)

    monkeypatch.setattr(parser, "import_module", full)
    assert parser.run(["trial"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.endswith("No space left on device; free space and run again\n")
    assert (file or "trial") in said


def test_a_full_disk_that_sqlite_finds_is_one_line_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> ModuleType:
        with sqlite3.connect(tmp_path / "vectors.sqlite") as database:
            database.execute("PRAGMA max_page_count = 2")
            database.execute("CREATE TABLE vectors (value BLOB)")
            database.execute("INSERT INTO vectors VALUES (zeroblob(100000))")
        raise AssertionError("the database took more than its size")

    monkeypatch.setattr(parser, "import_module", full)
    assert parser.run(["trial"]) == 1
    assert capsys.readouterr().err == "trial: database or disk is full; free space and run again\n"


def test_a_loop_of_links_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (loop := tmp_path / "loop").symlink_to(loop)
    assert parser.run(["evaluate", "--example", "--out", str(loop)]) == 1
    assert "Symlink loop" in capsys.readouterr().err


def test_a_text_in_place_of_an_id_is_shortened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data := tmp_path / "t.csv").write_text("id,human,m\n" + f"{'x' * 10_000},1,2\n" * 2)
    assert parser.run(["agreement", str(data), "--human", "human"]) == 1
    assert f"{'x' * 100}..." in (said := capsys.readouterr().err) and len(said) < 1000


def test_commands_that_ask_models_end_with_their_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[str] = []
    monkeypatch.setattr("tasks.transport.processes.end_with_parent", lambda: watched.append(" ".join(sys.argv)))
    for arguments in ((), ("--version",), ("domain", "--help"), ("evaluate", "--help"), ("audit", "--help")):
        monkeypatch.setattr(sys, "argv", ["vignette", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
    assert watched == ["vignette evaluate --help", "vignette audit --help"]


def test_no_compiled_module_is_written_to_a_disk_that_is_nearly_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["vignette", "--version"])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "")
    for free, spared in ((cli.LITTLE_SPACE, False), (cli.LITTLE_SPACE - 1, True)):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with pytest.raises(SystemExit):
            cli.main()
        child = subprocess.run(
            [sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"], capture_output=True
        )
        assert (sys.dont_write_bytecode, child.stdout.split()) == (spared, [str(spared).encode()])


@each("ran", [True, False])
def test_the_command_that_stops_the_server_says_whether_one_ran(
    ran: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("flows.commands.server.stop_server", lambda: ran)
    assert parser.run(["server", "stop"]) == 0
    assert capsys.readouterr().out == ("stopped\n" if ran else "no server was running\n")


def test_a_server_is_served_as_the_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Any] = []
    monkeypatch.setattr("flows.commands.server.serve", lambda *given, stay: served.append((*given, stay)))
    for options in ("", "--host 0.0.0.0 --name node1 --name node2 --stay"):
        assert parser.run(["server", "supervise", "4200", *options.split()]) == 0
    assert served == [(4200, "127.0.0.1", (), False), (4200, "0.0.0.0", ["node1", "node2"], True)]


@each("arguments", ["evaluate --metrics overlap", "audit --cases 2 --tasks claims --takes 1"])
def test_an_example_ships_with_which_a_command_runs_as_it_is(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parser.run([*arguments.split(), "--example"]) == 0
    command = arguments.split()[0]
    assert "dry run: rules, no results" in capsys.readouterr().out or command == "evaluate"
    assert (tmp_path / {"evaluate": "evaluation/report.html", "audit": "audit/card.html"}[command]).is_file()


@each(
    "arguments, said",
    [
        ("evaluate", "expected a file"),
        ("evaluate a.csv --example", "not both"),
        ("audit --example --texts a", "--texts: "),
    ],
)
def test_an_example_is_alone(arguments: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert parser.run(arguments.split()) == 1
    assert said in capsys.readouterr().err


def test_a_closed_stream_ends_no_command(tmp_path: Path) -> None:
    plan = f"{sys.executable} -m flows.commands.cli plan {tmp_path} --documents no"
    for command in (
        f"{plan} <&-",
        f"{plan} <&- >&-",
        f"{plan} <&- 2>&-",
        f"{sys.executable} -m flows.commands.cli --version >&-",
    ):
        done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert "Traceback" not in done.stderr and done.returncode == ("plan" in command)
        assert ("expected whole numbers" in done.stderr) == ("plan" in command and "2>&-" not in command)


def test_a_working_directory_that_was_removed_is_said(tmp_path: Path) -> None:
    command = f'mkdir gone; cd gone; rmdir ../gone; PYTHONPATH="{ROOT}" "{sys.executable}" -m flows.commands.cli plan'
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr == "vignette: the working directory was removed; change to one that exists\n"
