"""Lists, shows, compares and checks the prompts, of which a user's folder may replace any by name."""

import difflib
import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.repository.workspace import params_file
from schemas.errors import ParamsError
from tasks.llm.prompt_set import own_prompts, read_folder, replaced, text_of, unknown_prompt

_Name = Annotated[str, typer.Argument(help="Room and name, for example doclens/subclaims.")]


def list_() -> None:
    """Print the name and the fields of every prompt, and which ones the folder of params.yaml replaces."""
    from tasks.llm.prompts import variables

    _load()
    mine = replaced()
    for name, text in sorted(own_prompts().items()):
        fields = ", ".join(sorted(variables(text)[0])) or "-"
        print(f"{name:<26} {fields}{'  (replaced)' if name in mine else ''}")


def show(name: _Name) -> None:
    """Print the prompt in use."""
    _load()
    _require(name)
    print(text_of(name), end="")


def diff(
    name: Annotated[str | None, typer.Argument(help="One prompt (default: all that are replaced).")] = None,
) -> None:
    """Print what the folder's prompts change of those that ship."""
    _load()
    if name is not None:
        _require(name)
    for one in replaced() if name is None else [name]:
        own, mine = own_prompts()[one].splitlines(keepends=True), text_of(one).splitlines(keepends=True)
        sys.stdout.writelines(difflib.unified_diff(own, mine, f"{one}, as it ships", f"{one}, in use"))


def check(
    folder: Annotated[Path | None, typer.Argument(help="Folder of prompts (default: prompts.folder).")] = None,
) -> None:
    """Check the prompts of a folder: names, form, unknown fields, fields that are lacking."""
    from tasks.llm.prompts import problems

    configured = _load()
    if folder is None and configured is None:
        raise ParamsError("no folder: name one, or set prompts.folder in params.yaml")
    texts = read_folder(folder or params_file().parent / str(configured))
    found = [f"{name}: {problem}" for name, text in sorted(texts.items()) for problem in problems(name, text)]
    if found:
        raise ParamsError("\n".join(found))
    silent = [name for name, text in texts.items() if "Task:" in own_prompts()[name] and "Task:" not in text]
    for name in silent:
        print(f"{name}: has no line Task:, by which the simulator knows what is asked; it will refuse it")
    differ = sum(text != own_prompts()[name] for name, text in texts.items())
    print(f"prompts in the folder: {len(texts)}; other than those that ship: {differ}")


def _load() -> str | None:
    """Use the folder of params.yaml, and return it."""
    from flows.repository.params import load_params  # loads pydantic, which the help does without

    return load_params(params_file()).prompts.folder


def _require(name: str) -> None:
    if name not in own_prompts():
        raise unknown_prompt(name, name)


SUBCOMMANDS = [list_, show, diff, check]
