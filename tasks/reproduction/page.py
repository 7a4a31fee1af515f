"""Renders docs/papers.md: how each table and figure of the papers is covered, from the judged reproduction rows."""

from collections.abc import Sequence
from importlib.resources import files

import pandas as pd

from tasks.reproduction.published import KEY, Item, items, papers

BASES = {
    "exact": "exact",
    "sampled": "within sampling error",
    "fitted": "fitted",
    "simulator": "simulator",
    "stand-in": "our rules in the place of the paper's model",
    "hosted": "hosted model",
    "absent": "absent",
}
"""Words for the bases of reproduction rows, in the order of the page."""


def known_rows(runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The judged rows of several pipelines; a cell that one of them reproduces is not absent."""
    rows = pd.concat(runs, ignore_index=True).sort_values("basis", key=lambda basis: basis == "absent", kind="stable")
    return rows[(rows["basis"] != "absent") | ~rows.duplicated(KEY)].reset_index(drop=True)


def papers_page(rows: pd.DataFrame) -> str:
    """The page as Markdown. ``rows``: REPRODUCTION of all pipelines, as `known_rows` gives them."""
    groups = dict(list(rows.groupby(["source", "table"])))
    parts = [files("tasks.reproduction").joinpath("papers_head.md").read_text(encoding="utf-8")]
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
    for basis, word in BASES.items():
        verdicts = rows.loc[rows["basis"] == basis, "verdict"]
        if len(verdicts):
            told = verdicts[verdicts != "uninformative"]
            met = f"{(told == 'pass').sum()} of " if basis != "absent" else ""
            more = f" ({len(verdicts) - len(told)} uninformative)" if len(told) < len(verdicts) else ""
            found.append(f"{word}: {met}{len(told)}{more}")
    return "; ".join(found)
