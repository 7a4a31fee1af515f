"""Keeps the recorded lineages of a strong model up to date; rebuilds and compares them (`vignette demo`)."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from flows.repository.workspace import root, workspace

SHOWN = ("role", "model", "stage", "task", "created")
Lineage = Annotated[str, typer.Option(help="The recorded lineage, by its domain: a folder of tests/cassettes.")]
DEFAULT = "respiratory"


def refresh(
    folder: Annotated[Path | None, typer.Option(help="Clone to build in (default .vignette/cassette).")] = None,
    lineage: Lineage = DEFAULT,
) -> None:
    """Ask the recorded model for replies to changed prompts alone, and drop those that nothing asks for any more.

    The endpoint must be up at the addresses in the lineage's params (tests/cassettes/respiratory/params.yaml).
    """
    from flows.lineage.recorded import RecordedClone, cassette

    recorded = cassette(lineage)
    clone = RecordedClone((folder or workspace() / "cassette").resolve(), recorded)
    clone.build_recorded()
    # Imported above; export does not replace a file that it did not write.
    (clone.folder / recorded.replies).unlink(missing_ok=True)
    clone.vignette("store", "export", "--used", str(recorded.replies))
    shutil.copy(clone.folder / recorded.replies, root() / recorded.replies)
    print(f"{recorded.replies}: written")


def show(lineage: Lineage = DEFAULT) -> None:
    """Print which model answered, when, and how many replies of each role and task are recorded."""
    import pandas as pd

    from flows.lineage.recorded import cassette, read_replies

    replies = pd.DataFrame(read_replies(root() / cassette(lineage).replies), columns=list(SHOWN))
    groups = replies.groupby(["role", "model", "stage", "task"])["created"]
    print(groups.agg(replies="size", first="min", last="max").reset_index().to_string(index=False))


def demo(
    folder: Annotated[Path | None, typer.Option(help="Clone to build in (default .vignette/demo).")] = None,
    lineage: Lineage = DEFAULT,
) -> None:
    """Rebuild a strong model's recorded lineage without any call, and compare it with the simulator's."""
    from flows.lineage.recorded import RECORDED, RULES, RecordedClone, cassette

    recorded = cassette(lineage)
    clone = RecordedClone((folder or workspace() / "demo").resolve(), recorded)
    clone.build_rules()
    clone.build_recorded()
    clone.vignette("compare", RULES, RECORDED)
    clone.complete()
    report = clone.folder / "reports" / "index.html"
    print(f"\nreports: {report}, {clone.folder / 'reports/comparisons'}")
    print(f"a strong model's judgements of published outputs, claim by claim: {report}#judged")
    print(f"its judgements of this lineage: {clone.folder / 'data'}, and each reply in {recorded.replies}")


SUBCOMMANDS = [show, refresh]
