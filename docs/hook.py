"""The hook of mkdocs for pages whose text lies elsewhere: README.md, CHANGELOG.md, LOG.md, help of each command."""

import re
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File

from flows.commands.parser import COMMANDS, load_command

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "log.md": "LOG.md"}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    pages = {page: within_docs((ROOT / file).read_text(encoding="utf-8")) for page, file in PAGES.items()}
    pages["reference/commands.md"] = commands_page()
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def within_docs(text: str) -> str:
    """A page of the repository's root with its links made relative to docs/; links to other files become plain text."""
    linked = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[\w.-]*(?:LICENSE|\.cff|\.yaml|\.py)\)", r"`\1`", linked)


def commands_page() -> str:
    """What ``--help`` prints for every ``vignette`` command and subcommand."""
    parts = ["# Commands\n"]
    for name in COMMANDS:
        command = load_command(name)
        parts += [f"## vignette {name}\n", *_helps(f"vignette {name}", command)]
    return "\n".join(parts)


def _helps(name: str, command: click.Command) -> list[str]:
    found = [f"```text\n{command.get_help(click.Context(command, info_name=name, terminal_width=100))}\n```\n"]
    for sub, subcommand in getattr(command, "commands", {}).items():
        found += _helps(f"{name} {sub}", subcommand)
    return found
