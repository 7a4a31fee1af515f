"""Writes docs/papers.md: how each table and figure of the papers is reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.runtime.workspace import root

if TYPE_CHECKING:
    import pandas as pd

PAGE = Path("docs/papers.md")
JUDGED = (Path("reports/reproduction.csv"), Path("reports/published/reproduction.csv"))


def main(
    check: Annotated[bool, typer.Option(help="Change nothing; exit with 1 if the page is out of date.")] = False,
) -> None:
    """Write docs/papers.md from the judged rows of both pipelines, or check it."""
    text = page()
    if not check:
        (root() / PAGE).write_text(text, encoding="utf-8")
    elif text != (root() / PAGE).read_text(encoding="utf-8"):
        print(f"{PAGE} is out of date: run vignette papers")
        raise typer.Exit(1)


def page() -> str:
    """The page for the committed rows of both pipelines."""
    from tasks.reproduction.page import papers_page

    return papers_page(all_rows())


def all_rows() -> pd.DataFrame:
    """Judged rows of both pipelines; a printed figure in neither is absent."""
    import pandas as pd

    from flows.runtime.tables import read_table
    from schemas.tables.metrics import REPRODUCTION
    from tasks.reproduction.page import known_rows
    from tasks.reproduction.published import absent_rows, judge

    judged = known_rows([read_table(root() / file, REPRODUCTION) for file in JUDGED])
    missing = absent_rows(judged.drop(columns=["null_pass", "verdict"]))
    return pd.concat([judged, judge(missing)], ignore_index=True)
