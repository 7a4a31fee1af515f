"""Keeps the recorded lineage of a strong model up to date."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from flows.engine.recorded_lineage import REPLIES, RecordedClone
from flows.engine.workspace import root, workspace


def refresh(
    folder: Annotated[Path | None, typer.Option(help="Clone to build in (default .vignette/cassette).")] = None,
) -> None:
    """Ask the recorded model for replies to changed prompts alone, and drop those that nothing asks for any more.

    The endpoint must be up at the addresses in tests/cassettes/params.yaml.
    """
    clone = RecordedClone((folder or workspace() / "cassette").resolve())
    clone.build_recorded()
    clone.vignette("store", "export", "--used", str(REPLIES))
    shutil.copy(clone.folder / REPLIES, root() / REPLIES)
    print(f"{REPLIES}: written")


SUBCOMMANDS = [refresh]
