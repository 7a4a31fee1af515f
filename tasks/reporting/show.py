"""How figures are shown: columns, order, rounding, interval, n and unscored, for pages, terminals and figures alike.

Rows of METRICS, differences of two sides and any other rows become a `Table`, which templates/page.html shows as HTML
and `terminal` as text.
"""

import io
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx
import pandas as pd

from tasks.reporting.display import number, percent, probability, words

_KEY = ("system", "condition", "item")
_ABSENT = "absent: "
_WIDEST = 6
"""Columns of values that fit on a page; tables with more columns than rows are shown with metrics as rows."""
_MOST = 10
"""Rows of a table that is shown before a click."""
_FURTHER = "_std|_pooled|_bounds|^p_value|_possible|_corrected"
"""Metrics that a paper would not print."""


@dataclass(frozen=True)
class Cell:
    """A place of a table: a value, its interval with a bar if that lies in 0-1, n, and what of it is unscored.

    ``partial``: of n, how many lack some of their judgements. ``small``: further lines; ``sort``: by what the place is
    sorted, by default its text; ``kind``: class of the page's style.
    """

    value: str
    interval: str = ""
    bar: tuple[float, float] | None = None
    n: int | None = None
    unscored: int = 0
    partial: int = 0
    small: tuple[str, ...] = ()
    sort: str | None = None
    kind: str = ""
    title: str = ""

    def line(self) -> str:
        """The place as a line: "31.7% (22.7–42.2) n 11/12, 1 in part"."""
        if self.n is None:
            return ", ".join([self.value, *self.small])
        of = f"/{self.n + self.unscored}" if self.unscored else ""
        low, _, high = self.interval.partition(" to ")
        spread = f" ({low.rstrip('%')}–{high.rstrip('%')})" if high else " (no interval)" if self.n else ""
        return f"{self.value}{spread} n {self.n}{of}" + (f", {self.partial} in part" if self.partial else "")


@dataclass(frozen=True)
class Column:
    """A column's name and what it means."""

    label: str
    meaning: str = ""


@dataclass(frozen=True)
class Table:
    """``rows`` of cells under ``columns``, of which the first ``heads`` name the row; ``n``: whether cells show it."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | None]]
    heads: int = 1
    n: bool = True


@dataclass(frozen=True)
class Wording:
    """How a table of METRICS is worded: meanings, and labels where a metric's name in words is none.

    ``shares``: metrics stored in 0-1 and shown as percent. ``own_systems``: systems have names of the user's, which are
    shown as they are. ``keys``: what system, condition and item are called.
    """

    meanings: Mapping[str, str] = field(default_factory=dict)
    shares: Collection[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    own_systems: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)

    def write(self, metric: str) -> Callable[[float], str]:
        """How values of a metric are written."""
        return percent if metric in self.shares else number


@dataclass(frozen=True)
class Shown:
    """Rows of METRICS as tables, one for each set of metrics that share rows, and what holds of all rows.

    ``constant``: parts of the key that all rows share; ``absent``: metrics that are not available, each with its
    requirement; ``n``: if all rows have the same.
    """

    tables: Sequence[Table]
    constant: Mapping[str, str]
    absent: Sequence[tuple[str, str]]
    rows: int
    unscored: int
    n: str


def show(table: pd.DataFrame, wording: Wording | None = None, *, n_once: bool = False) -> Shown:
    """Rows of METRICS as tables; metrics that share no row have tables of their own.

    ``n_once``: an n that all rows have is not in the cells, as the page says it beside the tables.
    """
    wording = wording or Wording()
    missing = table["provenance"].str.startswith(_ABSENT) & table["value"].isna()
    shown = table[~missing]
    written = dict.fromkeys(_KEY, words) | ({"system": str} if wording.own_systems else {})
    constant = {name: shown[name].iloc[0] for name in _KEY if len(shown) and shown[name].nunique() == 1}
    keys = [name for name in _KEY if name not in constant] or ["system"]
    if keys == ["system"]:
        constant.pop("system", None)
    n = f"{shown['n'].iloc[0]:,}" if n_once and shown["n"].nunique() == 1 else ""
    return Shown(
        tables=[_table(shown, group, keys, written, wording, n=not n) for group in _measured_together(shown)],
        constant={name: written[name](value) for name, value in constant.items() if value != "all"},
        absent=sorted({(row.metric, row.provenance.removeprefix(_ABSENT)) for row in table[missing].itertuples()}),
        rows=len(shown[list(_KEY)].drop_duplicates()),
        unscored=int(table["unscored"].max()) if len(table) else 0,
        n=n,
    )


def main_rows(table: pd.DataFrame, chosen: Collection[str] = ()) -> pd.DataFrame:
    """The rows of METRICS that a paper would print: those of all items together, without spreads, bounds and p values.

    ``chosen``: metrics, by default all of these. None if they are more than a reader would look at.
    """
    named = table["metric"].isin(chosen) if chosen else ~table["metric"].str.contains(_FURTHER)
    rows = table[named & table["value"].notna()]
    whole = rows[rows["item"].isin(["all", "mean"])]
    rows = whole if len(whole) else rows
    return rows if len(rows[list(_KEY)].drop_duplicates()) <= _MOST else rows.iloc[:0]


def _measured_together(table: pd.DataFrame) -> list[list[str]]:
    """Connected components of metrics that share a row, in order of first appearance."""
    metrics, together = list(dict.fromkeys(table["metric"])), nx.Graph()
    together.add_nodes_from(metrics)
    for _, group in table.groupby(list(_KEY), sort=False):
        nx.add_path(together, group["metric"])
    return [sorted(group, key=metrics.index) for group in nx.connected_components(together)]


def _table(
    table: pd.DataFrame,
    metrics: list[str],
    keys: list[str],
    written: Mapping[str, Callable[[str], str]],
    wording: Wording,
    *,
    n: bool,
) -> Table:
    by_key: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in table[table["metric"].isin(metrics)].to_dict("records"):
        key = tuple(row[name] for name in _KEY)
        by_key.setdefault(key, {})[row["metric"]] = cell(row, wording.write(row["metric"]))
    named = [[Cell(written[name](part)) for name, part in zip(_KEY, key, strict=True) if name in keys]
             for key in by_key]  # fmt: skip
    columns = [Column(wording.labels.get(name, words(name)), wording.meanings.get(name, "")) for name in metrics]
    values = [_barred([cells.get(metric) for cells in by_key.values()]) for metric in metrics]
    if len(metrics) > max(_WIDEST, len(by_key)):
        heads = [Column(", ".join(part.value for part in key)) for key in named]
        rows = [[Cell(one.label, small=(one.meaning,) if one.meaning else ()), *found]
                for one, found in zip(columns, values, strict=True)]  # fmt: skip
        return Table([Column("metric"), *heads], rows, 1, n)
    heads = [Column(wording.keys.get(name, name)) for name in keys]
    rows = [[*key, *found] for key, found in zip(named, zip(*values, strict=True), strict=True)]
    return Table([*heads, *columns], rows, len(keys), n)


def _barred(column: list[Cell | None]) -> list[Cell | None]:
    """The cells with bars only where the whole column has them."""
    if not any(one and one.interval and not one.bar for one in column):
        return column
    return [one and replace(one, bar=None) for one in column]


def cell(row: Mapping[str, Any], write: Callable[[float], str] = number) -> Cell:
    """A row of METRICS as it is shown."""
    value, low, high = row["value"], row["low"], row["high"]
    has_interval = not (math.isnan(low) or math.isnan(high))
    on_bar = has_interval and 0 <= low <= high <= 1
    return Cell(
        value=write(value),
        interval=f"{write(low)} to {write(high)}" if has_interval else "",
        bar=(100 * low, max(100 * (high - low), 1)) if on_bar else None,
        n=int(row["n"]),
        unscored=int(row["unscored"]),
        partial=int(row.get("partial", 0)),
        sort="" if math.isnan(value) else f"{value:.6g}",
        kind="value",
        small=tuple(row.get("small", ())),
    )


def differences(
    rows: Sequence[Mapping[str, Any]],
    heads: Mapping[str, Callable[[Mapping[str, Any]], str | Cell]],
    sides: tuple[str, str],
    *,
    write: Callable[[float], str] = number,
    more: Mapping[str, str] | None = None,
) -> Table:
    """Differences of two sides (columns a, b, difference, low, high, p, n, changed, note), with ● beyond chance.

    ``heads``: what names a row, by column; ``more``: further columns of counts or ranges by the name of the column, for
    a range (low and high) that of its ends up to ``_low``. A difference without p is not tested.
    """

    def plus(value: float) -> str:
        return f"+{write(value)}" if value >= 0.0005 else write(value)

    found = []
    for row in rows:
        named = [one if isinstance(one, Cell) else Cell(one) for one in (of(row) for of in heads.values())]
        tested = probability(row["p"]) if row["p"] == row["p"] else "not tested"
        changed = bool(row["changed"])
        lines = [_range(row, "", plus)] if row["low"] == row["low"] else []
        lines += (
            [f"found from {write(least)}"] if not changed and (least := row.get("detectable", math.nan)) > 0 else []
        )
        kind = "beyond" if changed else ""
        found.append(
            [
                *named,
                Cell(write(row["a"]), sort=_sort(row["a"])),
                Cell(write(row["b"]), sort=_sort(row["b"])),
                Cell(
                    plus(row["difference"]),
                    small=tuple(lines),
                    sort=_sort(row["difference"]),
                    kind=f"value range {kind}",
                ),
                Cell(
                    tested + (" ●" if changed else ""),
                    small=(row["note"],) if row["note"] else (),
                    sort=_sort(row["p"]),
                    kind=f"range {kind}" if row["note"] else kind,
                ),
                Cell(
                    str(row["n"]),
                    small=(f"{row['unpaired']} unpaired",) if row.get("unpaired") else (),
                    sort=str(row["n"]),
                ),
                *(Cell(str(row[name]) if name in row else _range(row, f"{name}_", plus)) for name in more or {}),
            ]
        )
    labels = [*heads, *sides, "difference", "p, adjusted", "n", *(more or {}).values()]
    return Table([Column(label) for label in labels], found, len(heads))


def _range(row: Mapping[str, Any], name: str, write: Callable[[float], str]) -> str:
    low, high = row[f"{name}low"], row[f"{name}high"]
    return f"{write(low)} to {write(high)}" if low == low else ""


def _sort(value: float) -> str:
    return f"{value:.6g}" if value == value else ""


def listed(rows: Sequence[Mapping[Any, Any]], columns: Mapping[str, str], *, heads: int = 1, kind: str = "") -> Table:
    """Rows as they are, by name of the column and its label. ``kind``: class of all places but the heads."""
    cells = [
        [Cell(str(row[name]), kind=kind if place >= heads else "") for place, name in enumerate(columns)]
        for row in rows
    ]
    return Table([Column(label) for label in columns.values()], cells, heads)


def named(values: Mapping[str, object]) -> Table:
    """Values by name, without a head."""
    return Table([], [[Cell(str(name)), Cell(str(value), kind="wrap")] for name, value in values.items()])


def terminal(table: Table, width: int | None = None) -> str:
    """A table as text, of at most ``width`` columns: places that are too long are broken into lines."""
    from rich.console import Console  # these take a tenth of a second
    from rich.table import Table as Grid

    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    for column in table.columns:
        grid.add_column(column.label, overflow="fold")
    for row in table.rows:
        heads, rest = row[: table.heads], row[table.heads :]
        grid.add_row(*(one.value if one else "" for one in heads), *(one.line() if one else "–" for one in rest))
    written = io.StringIO()
    Console(file=written, width=width or 10_000, color_system=None, markup=False, highlight=False, emoji=False).print(
        grid
    )
    return "\n".join(line.rstrip() for line in written.getvalue().rstrip("\n").split("\n"))
