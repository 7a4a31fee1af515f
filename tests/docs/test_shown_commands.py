"""Every command shown in README and docs exists with its options."""

import re
from functools import cache
from pathlib import Path

import pytest

from flows.commands import parser
from flows.commands.parser import COMMANDS, load_command
from tests.support.cases import each
from tests.support.imports import ROOT
from tests.support.shown import PROGRAMS, Shown, shown_commands

SHOWN = shown_commands()
EXAMPLES = {"FORMAT": "brat", "PLACEHOLDER": "value", "...": "value"}
"""Values for the placeholders of shown commands."""


load = cache(load_command)  # to make one takes longer than all else here


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
    command = load(name)
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
    assert parser.run(["evaluate", "--example", "--out", str(tmp_path / "evaluation")]) == 0
    assert capsys.readouterr().out.replace(f"{tmp_path}/", "") == printed
