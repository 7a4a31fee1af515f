"""Rebuilds the recorded lineage of a strong model, and the simulator's on the same records, and compares them."""

from pathlib import Path
from typing import Annotated

import typer

from flows.lineage.recorded import RECORDED, RULES, RecordedClone
from flows.runtime.workspace import workspace


def main(
    folder: Annotated[Path | None, typer.Option(help="Clone to build in (default .vignette/demo).")] = None,
) -> None:
    """Rebuild a strong model's recorded lineage without any call, and compare it with the simulator's."""
    clone = RecordedClone((folder or workspace() / "demo").resolve())
    clone.build_rules()
    clone.build_recorded()
    clone.vignette("compare", RULES, RECORDED)
    clone.complete()
    print(f"\nreports: {clone.folder / 'reports/index.html'}, {clone.folder / 'reports/comparisons'}")
