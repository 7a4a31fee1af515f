"""Renders docs/papers.md: how each table and figure of the papers is covered, from the judged reproduction rows."""

from collections.abc import Sequence

import pandas as pd

from tasks.reproduction.papers import Item, items, papers

BASES = {
    "exact": "exact",
    "sampled": "within sampling error",
    "fitted": "fitted",
    "embedded": "simulator",
    "offline": "without a model",
    "hosted": "hosted model",
    "absent": "absent",
}
"""Words for the bases of reproduction rows, in the order of the page."""
_HEAD = """# The papers, table by table

Every table and figure of the four papers, and how it is reproduced. This page is written by `vignette papers` from
`tasks/reproduction/papers.yaml` and the judged rows in `reports/reproduction.csv` and
`reports/published/reproduction.csv`, which hold each printed figure with our value, tolerance and verdict.

| word | meaning |
|---|---|
| exact | recomputed from printed or released data; agrees to the printed digit |
| within sampling error | recomputed on our own draw of records; the tolerance is an interval over replicates |
| fitted | measured on simulated notes whose rates were fitted to the statistic |
| simulator | measured on simulated notes; a difference measures the simulator, not the method |
| without a model | our rules, applied to the published outputs, in place of the paper's judge |
| hosted model | measured with a hosted language model |
| absent | figures that are not reproduced; the last column names the requirement |
| n of m | m figures, of which n are within tolerance |
| - | no measured figures; the last column names our counterpart |

Commands with `SOURCES` need [outside data](outside-data.md).
"""


def known_rows(runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The judged rows of several pipelines; a cell that one of them reproduces is not absent."""
    rows = pd.concat(runs, ignore_index=True)
    rows = rows.assign(missing=rows["basis"] == "absent").sort_values("missing", kind="stable")
    reproduced = rows[~rows["missing"]]
    tables = pd.MultiIndex.from_frame(reproduced[["source", "table", "row", "column"]])
    again = rows["missing"] & pd.MultiIndex.from_frame(rows[["source", "table", "row", "column"]]).isin(tables)
    return rows[~again].drop(columns="missing").reset_index(drop=True)


def papers_page(rows: pd.DataFrame) -> str:
    """The page as Markdown. ``rows``: REPRODUCTION of all pipelines, as `known_rows` gives them."""
    groups = dict(list(rows.groupby(["source", "table"])))
    parts = [_HEAD]
    for source, title in papers().items():
        parts.append(f"\n## {title}\n\n| item | contents | reproduced | command | requirement, counterpart, remark |")
        parts.append("|---|---|---|---|---|")
        parts += [_line(item, groups.get((source, item.name))) for item in items() if item.source == source]
    return "\n".join(parts) + "\n"


def _line(item: Item, rows: pd.DataFrame | None) -> str:
    needs = f"needs {item.needs}" if rows is not None and (rows["basis"] == "absent").any() and item.needs else ""
    notes = "; ".join(note for note in (needs, item.instead, item.remark) if note)
    command = f"`{item.command}`" if item.command else ""
    texts = [item.name, item.contents, _status(rows), command, notes]
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def _status(rows: pd.DataFrame | None) -> str:
    """Counts by basis: "exact: 51 of 52; absent: 4"."""
    if rows is None:
        return "-"
    found = []
    for basis, word in BASES.items():
        verdicts = rows.loc[rows["basis"] == basis, "verdict"]
        if len(verdicts):
            met = f"{(verdicts == 'pass').sum()} of " if basis != "absent" else ""
            found.append(f"{word}: {met}{len(verdicts)}")
    return "; ".join(found)
