"""The simulated coverage of intervals, docs/coverage.csv, and the table of docs/coverage.md that follows from it."""

from collections.abc import Sequence

import pandas as pd

from tests.support.imports import ROOT
from tests.support.simulated import Cell

MEASURED, PAGE = ROOT / "docs" / "coverage.csv", ROOT / "docs" / "coverage.md"
SHOWN = (5, 50)
"""Numbers of units of the page, of those that are measured."""
BEGIN, END = "<!-- table of coverage.csv -->", "<!-- end of the table -->"


def record(kind: str, cells: dict[tuple[int, float], Cell], runs: int) -> None:
    """Replace the rows of an interval in the measurements, and the table of the page."""
    rows = [
        {"interval": kind, "n": n, "p": p, "covered": cell.covered, "width": cell.width, "runs": runs}
        | {"without": cell.undefined}
        for (n, p), cell in cells.items()
    ]
    new = pd.DataFrame(rows).round({"covered": 3, "width": 2, "without": 3})
    kept = dict(iter(pd.read_csv(MEASURED).groupby("interval", sort=False))) | {kind: new}
    measured = pd.concat(kept.values(), ignore_index=True)
    measured.to_csv(MEASURED, index=False, lineterminator="\n")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")


def short(measured: pd.DataFrame) -> list[tuple[str, int]]:
    """Intervals and numbers of units with a cell below .9, or a mean over p below .94."""
    cells = measured.groupby(["interval", "n"])["covered"]
    return [*cells.mean().index[(cells.min() < 0.9) | (cells.mean() < 0.94)]]


def table(measured: pd.DataFrame) -> str:
    """A Markdown table: for each interval the mean coverage over p at each n of SHOWN, and the least of all cells."""
    lines = [f"| interval | {' | '.join(f'n = {n}' for n in SHOWN)} | least |", "|---" * (len(SHOWN) + 2) + "|"]
    for kind, rows in measured.groupby("interval", sort=False):
        means = rows.groupby("n")["covered"].mean().reindex(SHOWN)
        lines.append(f"| {kind} | {_shown([*means, rows['covered'].min()])} |")
    return "\n".join(lines)


def _shown(shares: Sequence[float]) -> str:
    return " | ".join("none" if pd.isna(share) else f"{share:.3f}" for share in shares)


def with_table(page: str, measured: pd.DataFrame) -> str:
    """The page with the table of ``measured`` in place of its present one."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table(measured)}\n\n{END}{rest.split(END)[1]}"
