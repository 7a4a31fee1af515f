"""Writes docs/papers.md: how each table and figure of the papers is reproduced; and the counts in README.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.repository.workspace import root

if TYPE_CHECKING:
    import pandas as pd

PAGE = Path("docs/papers.md")
README, BEGIN, END = Path("README.md"), "<!-- written by vignette papers -->", "<!-- end -->"
CONCLUSIONS = Path("reports/conclusions.csv")
JUDGED = (Path("reports/reproduction.csv"), Path("reports/published/reproduction.csv"))


def main(
    check: Annotated[bool, typer.Option(help="Change nothing; exit with 1 if the page is out of date.")] = False,
) -> None:
    """Write docs/papers.md, README's counts and reports/conclusions.csv from the committed tables, or check them."""
    table = concluded().to_csv(index=False, float_format="%.6g", lineterminator="\n")
    for file, text in ((PAGE, page()), (README, readme()), (CONCLUSIONS, table)):
        same = text == (root() / file).read_text(encoding="utf-8")
        if not check:
            print(f"{file}: {'unchanged' if same else 'written'}")
            (root() / file).write_text(text, encoding="utf-8")
        elif not same:
            print(f"{file} is out of date: run vignette papers")
            raise typer.Exit(1)


def concluded() -> pd.DataFrame:
    """CONCLUSIONS for the committed metric tables of both pipelines."""
    import pandas as pd

    from tasks.reproduction.conclusions import conclusions, tables_needed

    places = {name: root() / "reports" / _place(name) for name in tables_needed()}
    return conclusions({name: pd.read_csv(file) for name, file in places.items()})


def _place(name: str) -> str:
    folder, _, stem = name.rpartition("/")
    return f"{folder}/tables/{stem}.csv" if folder else f"tables/{stem}.csv"


def readme() -> str:
    """README.md with the counts for the committed rows of both pipelines."""
    from tasks.reproduction.conclusions import counts_line
    from tasks.reproduction.page import counts_table

    counted = f"{counts_table(all_rows())}\n\n{counts_line(concluded())}"
    before, _, rest = (root() / README).read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n\n{counted}\n\n{END}{rest.partition(END)[2]}"


def page() -> str:
    """The page for the committed rows and tables of both pipelines."""
    from tasks.reproduction.conclusions import conclusions_text, short_titles
    from tasks.reproduction.page import papers_page

    return papers_page(all_rows(), conclusions_text(concluded(), short_titles()))


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
