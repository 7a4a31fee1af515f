"""Renders docs/papers.md: how each table and figure of the papers is covered, from the judged reproduction rows."""

from collections.abc import Sequence
from importlib.resources import files

import pandas as pd

from schemas.tables.metrics import BASES
from tasks.reproduction.published import KEY, Item, items, papers


def known_rows(runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The judged rows of several pipelines; a cell that one of them reproduces is not absent."""
    rows = pd.concat(runs, ignore_index=True).sort_values("basis", key=lambda basis: basis == "absent", kind="stable")
    return rows[(rows["basis"] != "absent") | ~rows.duplicated(KEY)].reset_index(drop=True)


CLASSES = {
    "recomputed": "printed figures recomputed from released data",
    "closed form": "computed from the printed network",
    "arithmetic": "that follow from other printed figures",
    "sampled": "met on our own draws of records",
    "fitted": "met by what was fitted to them",
    "stand-in": "met by rules or another model in place of the paper's",
}
"""What is counted, by basis."""


def class_counts(rows: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Figures within tolerance and figures compared, by basis; uninformative rows are left out."""
    told = rows[rows["verdict"].isin(["pass", "fail"])]
    counted = {basis: told.loc[told["basis"] == basis, "verdict"] == "pass" for basis in CLASSES}
    return {basis: (int(met.sum()), len(met)) for basis, met in counted.items() if len(met)}


def counts_table(rows: pd.DataFrame) -> str:
    """`class_counts` as a Markdown table, with the rows that are left out."""
    lines = ["| figures | within tolerance |", "|---|---|"]
    lines += [f"| {CLASSES[basis]} | {met:,} of {told:,} |" for basis, (met, told) in class_counts(rows).items()]
    left = rows["verdict"].value_counts()
    lines.append(f"| that most null figures would meet as well: not counted | {left.get('uninformative', 0):,} |")
    lines.append(f"| that need data or models which are not at hand | {left.get('absent', 0):,} |")
    return "\n".join(lines)


_ABOUT = """\
A figure may be met where a conclusion is not. Each line is what a paper concludes, and the difference of the two values
that decides it, with a 95% interval: it holds, does not hold, or cannot be told. Values are those of our tables or,
where the line says `printed`, figures of the paper with their printed spread. Where values are those of simulated notes
or of rules (basis `fitted` or `stand-in`), they say nothing about the paper's models.

- `more`: the first value is larger; `as much`: not smaller by more than the margin; `same`: within the margin. Margins
  are ours, as the papers name none. `pairs`: of pairs of printed figures, the first is larger in more than half; pairs
  count as independent, which those of one model are not.
- The interval is paired where both values are measured on the same items and the tables allow it. Else it is that of
  independent values, too wide for values of the same items; the last column has the reason.
- n is the smallest number of items behind a value, or the number of pairs.
- null is the share of results without the concluded effect that would be said to hold.
- Each conclusion stands for itself: with as many, one or two hold by chance."""


def papers_page(rows: pd.DataFrame, concluded: str) -> str:
    """The page as Markdown. ``rows``: REPRODUCTION of all pipelines; ``concluded``: the table of conclusions."""
    groups = dict(list(rows.groupby(["source", "table"])))
    parts = [files("tasks.reproduction").joinpath("papers_head.md").read_text(encoding="utf-8"), counts_table(rows)]
    parts.append(f"\n## Conclusions\n\n{_ABOUT}\n\n{concluded}")
    for source, title in papers().items():
        parts.append(f"\n## {title}\n\n| item | contents | reproduced | command | requirement, counterpart, remark |")
        parts.append("|---|---|---|---|---|")
        parts += [_line(item, groups.get((source, item.name))) for item in items().values() if item.source == source]
    return "\n".join(parts) + "\n"


def _line(item: Item, rows: pd.DataFrame | None) -> str:
    needs = f"needs {item.needs}" if rows is not None and (rows["basis"] == "absent").any() and item.needs else ""
    notes = "; ".join(note for note in (needs, item.instead, item.remark) if note)
    command = f"`{item.command}`" if item.command else ""
    texts = [item.name, item.contents, _status(rows), command, notes]
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def _status(rows: pd.DataFrame | None) -> str:
    """Counts by basis: "exact: 51 of 52; absent: 4"; rows that most null figures would pass are counted apart."""
    if rows is None:
        return "-"
    found = []
    for basis in BASES:
        verdicts = rows.loc[rows["basis"] == basis, "verdict"]
        if len(verdicts):
            told = verdicts[verdicts != "uninformative"]
            met = f"{(told == 'pass').sum()} of " if basis != "absent" else ""
            more = f" ({len(verdicts) - len(told)} uninformative)" if len(told) < len(verdicts) else ""
            found.append(f"{basis}: {met}{len(told)}{more}")
    return "; ".join(found)
