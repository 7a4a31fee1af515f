"""Every command shown in README and docs exists with its options, and a test runs it."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from flows.commands import parser
from flows.commands.parser import COMMANDS, load_command
from tests.support.cases import each
from tests.support.imports import ROOT
from tests.support.shown import PROGRAMS, Shown, shown_commands

SHOWN = shown_commands()
TESTS = sorted(set((ROOT / "tests").rglob("test_*.py")) - {Path(__file__)})

LONG = {
    "repro": "tests/dag/test_whole_dag.py",
    "server": "tests/dag/conftest.py",
    "stage": "tests/dag/test_bad_input.py",
    "watch": "tests/dag/test_lived.py",
}
"""Commands that take minutes or start servers, and the whole-DAG tests that run them."""

EXAMPLES = {"FORMAT": "brat", "PLACEHOLDER": "value", "...": "value"}
"""Values for the placeholders of shown commands."""


def of(program: str) -> list[Shown]:
    return [shown for shown in SHOWN if shown.words[0] == program]


def test_pages_show_commands_of_known_programs_only() -> None:
    assert len(SHOWN) > 60
    assert [str(shown) for shown in SHOWN if shown.words[0] not in PROGRAMS] == []


@each("shown", of("vignette"))
def test_a_shown_vignette_command_is_accepted_by_its_parser(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *arguments = (EXAMPLES.get(word, word) for word in shown.words[1:])
    monkeypatch.chdir(tmp_path)
    for file in (word for word in arguments if re.fullmatch(r"[\w-]+\.\w+", word)):
        Path(file).touch()
    if name == "--help":
        return
    assert name in COMMANDS, f"{shown}: no such command"
    command = load_command(COMMANDS[name][0])
    subcommands = getattr(command, "commands", None)
    if subcommands and arguments:
        assert arguments[0] in subcommands, f"{shown}: expected one of {', '.join(subcommands)}"
        command, arguments = subcommands[arguments[0]], arguments[1:]
    if arguments or not shown.inline:
        command.make_context(name, list(arguments)).close()


@pytest.mark.dag
def test_the_example_prints_what_the_page_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    command, printed = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)[:2]
    assert command.startswith("vignette evaluate --example ")
    assert parser.run(["evaluate", "--example", "--no-mlflow", "--out", str(tmp_path / "evaluation")]) == 0
    assert capsys.readouterr().out.replace(f"{tmp_path}/", "") == printed


@each("shown", of("make"))
def test_a_shown_make_target_exists_and_its_variables_are_used(shown: Shown) -> None:
    makefile = (ROOT / "Makefile").read_text()
    words = shown.words[1:]
    for target in (word for word in words if "=" not in word):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{shown}: no target {target}"
    for variable in (word.split("=")[0] for word in words if "=" in word):
        assert f"$({variable})" in makefile, f"{shown}: {variable} is not read"


@each("shown", of("dvc"))
def test_a_shown_dvc_command_is_accepted_by_its_parser(shown: Shown) -> None:
    from dvc.cli.parser import get_main_parser

    given = [EXAMPLES.get(word, word) for word in shown.words[1:]]
    if shown.inline and given in (["add"], ["exp", "run", "-S"]):
        given.append("a=1")
    get_main_parser().parse_args(given)


@each("shown", of("python"))
def test_a_shown_module_exists(shown: Shown) -> None:
    assert shown.words[1] == "-m"
    assert importlib.util.find_spec(shown.words[2]) is not None, shown


@each("name", COMMANDS)
def test_a_test_runs_each_command_of_vignette(name: str) -> None:
    module, _, function = COMMANDS[name][0].rpartition(".")[2].partition(":")
    imported = rf"\.{module} import [\w, ]*{function}" if function else rf"(\.| import [\w, ]*){module}\b"
    ran = re.compile(rf'flows\.commands{imported}|(run|vignette|start)\(\[?"{name}"|"{name} \w')
    files = [ROOT / LONG[name]] if name in LONG else [file for file in TESTS if ran.search(file.read_text("utf-8"))]
    assert files and all(f'"{name}"' in file.read_text("utf-8") for file in files if name in LONG), (
        f"no test runs {name}"
    )


def test_the_targets_that_run_the_pipelines_are_the_commands_that_tests_run() -> None:
    def recipe(target: str, *variables: str) -> str:
        run = ["make", "--dry-run", "--always-make", target, *variables]
        return subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert ".venv/bin/vignette repro\n" in recipe("repro")
    assert ".venv/bin/vignette trial --whole --records 50\n" in recipe("quick")
    assert "repro --pipeline reports/published/dvc.yaml\n" in recipe("published", "SOURCES=folder")
    index = f"file://{Path('/srv/wheels')}"
    assert recipe("setup", f"TORCH_INDEX={index}").count(f'--extra-index-url "{index}"') == 2  # uv, and pip if it fails
