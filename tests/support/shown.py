"""The commands that README and docs show, in shell blocks and as inline code."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.imports import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS = (
    "vignette",
    "uv",
    "make",
    "dvc",
    "python",
    "pip",
    "prefect",
    "mlflow",
    "git",
    "unzip",
    "echo",
    "hf",
    "docker",
    "label-studio-converter",
)
"""Programs whose commands are shown; another name at the start of a line is an error of the page or of this list."""


@dataclass(frozen=True)
class Shown:
    """A command as words, with the page that shows it. ``inline`` ones may name a command without its arguments."""

    page: str
    words: tuple[str, ...]
    inline: bool

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def shown_commands() -> list[Shown]:
    """Every command of every page, each once."""
    found = [shown for page in PAGES for shown in _of_page(page)]
    return list(dict.fromkeys(found))


def _of_page(page: Path) -> Iterator[Shown]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT).as_posix()
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = block.replace("\\\n", " ").splitlines()
        if kind != "sh":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        yield from (Shown(name, words, inline=False) for line in lines for words in _commands(line))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for span in re.findall(r"`([^`]+)`", prose):
        if span.split()[0] in PROGRAMS and len(span.split()) > 1:
            yield from (Shown(name, words, inline=True) for words in _commands(span))


def _commands(line: str) -> Iterator[tuple[str, ...]]:
    line = re.sub(r"<[^>]*>", "PLACEHOLDER", line)
    line = re.sub(r"\s*\[[^\]]*\]$|\s\.\.\.$", "", line.split(" #")[0]) if '"' not in line else line.split(" #")[0]
    lexed = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexed.whitespace_split = True
    command: list[str] = []
    for word in [*lexed, "&&"]:
        if word in ("&&", ";", "&"):
            if command and command[0] not in ("export", ".", "cd"):
                yield tuple(command)
            command = []
        elif command or not re.match(r"[A-Z_]+=", word):  # not a variable that is set for the command
            command.append(word)
