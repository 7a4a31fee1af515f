"""Rebuilds a recorded lineage of a strong model and compares it with the simulator's."""

from pathlib import Path
from typing import Annotated

import typer

from flows.repository.workspace import workspace


def main(
    folder: Annotated[Path | None, typer.Option(help="Clone to build in (default .vignette/demo/LINEAGE).")] = None,
    lineage: Annotated[
        str, typer.Option(help="The recorded lineage, by its domain: a folder of tests/cassettes.")
    ] = "respiratory",
) -> None:
    """Rebuild a strong model's recorded lineage without any call, and compare it with the simulator's."""
    from flows.lineage.recorded import RECORDED, REPLIES, RULES, RecordedClone, cassette

    recorded = cassette(lineage)
    clone = RecordedClone((folder or workspace() / "demo" / lineage).resolve(), recorded)
    clone.build_rules()
    clone.build_recorded()
    clone.vignette("compare", RULES, RECORDED)
    report = clone.folder / "reports" / "index.html"
    print(f"\nreports: {report}, {clone.folder / 'reports/comparisons'}")
    print(f"a strong model's judgements of published outputs, claim by claim: {report}#judged")
    print(f"its judgements of this lineage: {clone.folder / 'data'}, and each reply in {recorded / REPLIES}")
