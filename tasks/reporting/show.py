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

from tasks.measures.measure import ENDINGS
from tasks.reporting.display import number, percent, probability, signed, words

_KEY = ("system", "condition", "item")
_ABSENT = "absent: "
_WIDEST = 6
"""Columns of values that fit on a page; tables with more columns than rows are shown with metrics as rows."""
_MOST = 10
"""Rows of a table that is shown before a click."""
_POSSIBLE = "_possible"
_FURTHER = "|".join(["^p_value", *(ending for ending in ENDINGS if ending != "_difference")])
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
    """How a table of METRICS is worded: ``meanings`` of its metrics.

    ``shares``: metrics stored in 0-1 and shown as percent. ``own_systems``: systems have names of the user's, which are
    shown as they are. ``keys``: what system, condition and item are called.
    """

    meanings: Mapping[str, str] = field(default_factory=dict)
    shares: Collection[str] = ()
    own_systems: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)


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
    metrics, together = list(dict.fromkeys(shown["metric"])), nx.Graph()
    together.add_nodes_from(metrics)
    for _, group in shown.groupby(list(_KEY), sort=False):
        nx.add_path(together, group["metric"])
    groups = [sorted(group, key=metrics.index) for group in nx.connected_components(together)]
    return Shown(
        tables=[_table(shown, group, {name: written[name] for name in keys}, wording, n=not n) for group in groups],
        constant={name: written[name](value) for name, value in constant.items() if value != "all"},
        absent=sorted({(row.metric, row.provenance.removeprefix(_ABSENT)) for row in table[missing].itertuples()}),
        rows=len(shown[list(_KEY)].drop_duplicates()),
        unscored=int(table["unscored"].max()) if len(table) else 0,
        n=n,
    )


def main_rows(table: pd.DataFrame, chosen: Collection[str] = ()) -> pd.DataFrame:
    """The rows of METRICS that a paper would print: those of all items together, without spreads, bounds and p values.

    ``chosen``: metrics, by default all of these. None if they are more than a reader would look at. ``small``: a mark
    of values that the table has as not possible.
    """
    named = table["metric"].isin(chosen) if chosen else ~table["metric"].str.contains(_FURTHER)
    rows = table[named & table["value"].notna()]
    whole = rows[rows["item"].isin(["all", "mean"])]
    rows = whole if len(whole) else rows
    rows = rows if len(rows[list(_KEY)].drop_duplicates()) <= _MOST else rows.iloc[:0]
    key = [*_KEY, "metric"]
    denied = table[table["metric"].str.endswith(_POSSIBLE) & table["value"].eq(0)][key]
    impossible = {(*row[:-1], row[-1].removesuffix(_POSSIBLE)) for row in denied.itertuples(index=False, name=None)}
    marks = [("not possible",) if row in impossible else () for row in rows[key].itertuples(index=False, name=None)]
    return rows.assign(small=marks)


def _table(
    table: pd.DataFrame, metrics: list[str], keys: Mapping[str, Callable[[str], str]], wording: Wording, *, n: bool
) -> Table:
    """The rows of some metrics, named by ``keys`` in words."""
    by_key: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in table[table["metric"].isin(metrics)].to_dict("records"):
        write = percent if row["metric"] in wording.shares else number
        by_key.setdefault(tuple(row[name] for name in _KEY), {})[row["metric"]] = cell(row, write)
    named = [[Cell(write(key[_KEY.index(name)])) for name, write in keys.items()] for key in by_key]
    columns = [Column(words(name), wording.meanings.get(name, "")) for name in metrics]
    values = [of_one_metric([cells.get(metric) for cells in by_key.values()]) for metric in metrics]
    if len(metrics) > max(_WIDEST, len(by_key)):
        heads = [Column(", ".join(part.value for part in key)) for key in named]
        rows = [[Cell(one.label, small=(one.meaning,) if one.meaning else ()), *found]
                for one, found in zip(columns, values, strict=True)]  # fmt: skip
        return Table([Column("metric"), *heads], rows, 1, n)
    heads = [Column(wording.keys.get(name, name)) for name in keys]
    rows = [[*key, *found] for key, found in zip(named, zip(*values, strict=True), strict=True)]
    return Table([*heads, *columns], rows, len(keys), n)


def of_one_metric(cells: Sequence[Cell | None]) -> list[Cell | None]:
    """The cells of a metric, with bars only if all its intervals lie in 0-1: one of a weight may do so by chance."""
    whole = all(one.bar for one in cells if one and one.interval)
    return [*cells] if whole else [one and replace(one, bar=None) for one in cells]


def cell(row: Mapping[str, Any], write: Callable[[float], str] = number) -> Cell:
    """A row of METRICS as it is shown; what is not computed from rows, as of a network, has no n."""
    value, low, high = row["value"], row["low"], row["high"]
    of_none = value == value and not row["n"] and not row["unscored"]
    has_interval = not (math.isnan(low) or math.isnan(high))
    on_bar = has_interval and 0 <= low <= high <= 1
    return _sorted(
        value,
        write(value),
        interval=f"{write(low)} to {write(high)}" if has_interval else "",
        bar=(100 * low, max(100 * (high - low), 1)) if on_bar else None,
        n=None if of_none else int(row["n"]),
        unscored=int(row["unscored"]),
        partial=int(row.get("partial", 0)),
        kind="value",
        small=(*row.get("small", ()), *(["not from records"] if of_none else [])),
    )


def _sorted(value: float, text: str, **more: Any) -> Cell:
    """A place that is sorted by its value."""
    return Cell(text, sort=f"{value:.6g}" if value == value else "", **more)


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

    def ends(row: Mapping[str, Any], name: str = "") -> str:
        low, high = row[f"{name}low"], row[f"{name}high"]
        return f"{signed(low, write)} to {signed(high, write)}" if low == low else ""

    found = []
    for row in rows:
        changed, note, unpaired = bool(row["changed"]), row["note"], row.get("unpaired")
        spread = [one] if (one := ends(row)) else []
        if not changed and (least := row.get("detectable", math.nan)) > 0:
            spread.append(f"80% power from {write(least)}")
        beyond, p = "beyond" if changed else "", row["p"]
        tested = probability(p) if p == p else "not tested"
        kinds = f"value range {beyond}", f"range {beyond}" if note else beyond
        named = (of(row) for of in heads.values())
        found.append(
            [
                *(one if isinstance(one, Cell) else Cell(one) for one in named),
                *(_sorted(row[side], write(row[side])) for side in "ab"),
                _sorted(row["difference"], signed(row["difference"], write), small=tuple(spread), kind=kinds[0]),
                _sorted(p, tested + (" ●" if changed else ""), small=(note,) if note else (), kind=kinds[1]),
                Cell(str(row["n"]), small=(f"{unpaired} unpaired",) if unpaired else (), sort=str(row["n"])),
                *(Cell(str(row[name]) if name in row else ends(row, f"{name}_")) for name in more or {}),
            ]
        )
    labels = [*heads, *sides, "difference", "p, adjusted", "n", *(more or {}).values()]
    return Table([Column(label) for label in labels], found, len(heads))


def listed(rows: Sequence[Mapping[Any, Any]], columns: Mapping[str, str], *, heads: int = 1, kind: str = "") -> Table:
    """Rows as they are, by name of the column and its label. ``kind``: class of all places but the heads."""
    cells = [
        [Cell(str(row[name]), kind=kind if place >= heads else "") for place, name in enumerate(columns)]
        for row in rows
    ]
    return Table([Column(label) for label in columns.values()], cells, heads)


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
    plain = Console(file=written, width=width or 10_000, color_system=None, markup=False, highlight=False, emoji=False)
    plain.print(grid)
    return "\n".join(line.rstrip() for line in written.getvalue().rstrip("\n").split("\n"))
