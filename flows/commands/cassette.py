"""Keeps the recorded lineage of a strong model up to date; rebuilds and compares it (`vignette demo`)."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from flows.runtime.workspace import root, workspace

SHOWN = ("role", "model", "stage", "task", "created")


def refresh(
    folder: Annotated[Path | None, typer.Option(help="Clone to build in (default .vignette/cassette).")] = None,
) -> None:
    """Ask the recorded model for replies to changed prompts alone, and drop those that nothing asks for any more.

    The endpoint must be up at the addresses in tests/cassettes/params.yaml.
    """
    from flows.lineage.recorded import COMPARED, REPLIES, RecordedClone

    clone = RecordedClone((folder or workspace() / "cassette").resolve())
    clone.build_recorded()
    (clone.folder / REPLIES).unlink()  # imported above; export does not replace a file that it did not write
    clone.vignette("store", "export", "--used", str(REPLIES))
    for file in (REPLIES, COMPARED):
        shutil.copy(clone.folder / file, root() / file)
        print(f"{file}: written")


def show() -> None:
    """Print which model answered, when, and how many replies of each role and task are recorded."""
    import pandas as pd

    from flows.lineage.recorded import REPLIES, read_replies

    replies = pd.DataFrame(read_replies(root() / REPLIES), columns=list(SHOWN))
    groups = replies.groupby(["role", "model", "stage", "task"])["created"]
    print(groups.agg(replies="size", first="min", last="max").reset_index().to_string(index=False))


def demo(
    folder: Annotated[Path | None, typer.Option(help="Clone to build in (default .vignette/demo).")] = None,
) -> None:
    """Rebuild a strong model's recorded lineage without any call, and compare it with the simulator's."""
    from flows.lineage.recorded import RECORDED, RULES, RecordedClone

    clone = RecordedClone((folder or workspace() / "demo").resolve())
    clone.build_rules()
    clone.build_recorded()
    clone.vignette("compare", RULES, RECORDED)
    clone.complete()
    print(f"\nreports: {clone.folder / 'reports/index.html'}, {clone.folder / 'reports/comparisons'}")


SUBCOMMANDS = [show, refresh]
