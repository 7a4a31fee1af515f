"""Reads the command line of ``vignette`` and runs one command, importing only that command's module."""

import re
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from flows.repository.surroundings import require_environment
from flows.repository.workspace import be_quiet
from schemas.errors import explained
from tasks.transport.shown import escaped_output

GROUPS = {
    "Make": {
        "repro": "Probe the models, rebuild what changed, record the lineage.",
        "trial": "Run what asks models on a few records; estimate the whole run.",
        "demo": "Rebuild a strong model's recorded lineage; compare with rules.",
        "domain": "Check, start or list clinical domains.",
        "exchange": "Write notes and spans for other tools; import forms; publish.",
    },
    "Judge": {
        "evaluate": "Evaluate your own texts: claims, facts, overlap and more.",
        "audit": "Make a judge's report card from cases with a certain answer.",
        "plan": "Plan a study: half widths and power by number of documents.",
        "agreement": "Compare metrics and verdicts with people's scores and labels.",
    },
    "Rebuild and compare": {
        "compare": "Compare lineages on the same records, or list them.",
        "watch": "Probe on a schedule; rebuild what a changed model affects.",
        "stage": "Run one stage of a pipeline, as dvc.yaml does.",
        "probe": "Identify the model of each role; update fingerprints/.",
        "store": "Check, export or import stored replies; show or set ledgers.",
        "server": "Start or stop the local Prefect server.",
    },
}
"""Help of each command, by what they are for.

The function ``main`` of the module of a command is the command; a module with subcommands lists their functions in
``SUBCOMMANDS``.
"""

COMMANDS = {name: text for commands in GROUPS.values() for name, text in commands.items()}

SETTINGS: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None}


class _Commands(TyperGroup):
    """The group of COMMANDS, which imports a command's module only to run the command."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=text, rich_markup_mode=None) for name, text in COMMANDS.items()}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, found, rest = super().resolve_command(ctx, args)
        return name, found and load_command(str(name)), rest


def load_command(name: str) -> Any:
    """The parser of a command. Telemetry is off first: Prefect reports its first import."""
    be_quiet()
    require_environment()
    module = import_module(f"flows.commands.{name}")
    app = typer.Typer(help=module.__doc__, no_args_is_help=True, **SETTINGS)
    for function in getattr(module, "SUBCOMMANDS", None) or [module.main]:
        app.command(function.__name__.rstrip("_"))(function)
    return typer.main.get_command(app)


app = typer.Typer(cls=_Commands, no_args_is_help=True, **SETTINGS)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"vignette {version('vignette')}")
        raise typer.Exit


@app.callback()
def _vignette(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Simulated clinical notes with known truth, and the evaluation of clinical text against that truth."""


def run(arguments: list[str]) -> int:
    """Run a command in this process and return its exit status: 1 for an error, 2 for wrong usage."""
    with escaped_output():
        try:
            typer.main.get_command(app)(args=arguments, prog_name="vignette")
        except SystemExit as done:
            return int(done.code or 0)
        except Exception as error:  # raised again unless it can be explained in a line
            said = explained(error)
            if isinstance(error, RecursionError):
                said = "an input is nested too deeply to be read; flatten it"
            if said is None:
                raise
            # A text of a file where an id is expected is cut.
            said = re.sub(r"\S++", lambda word: word[0] if len(word[0]) <= 5000 else f"{word[0][:100]}...", said)
            print(f"{arguments[0]}: {said}", file=sys.stderr)
            return 1
    return 0
