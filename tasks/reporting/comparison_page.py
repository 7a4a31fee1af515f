"""Displays the comparison of two lineages as text for the terminal and as an HTML page with a figure."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from tasks.reporting.display import number, paragraph, probability, signed, words
from tasks.reporting.figures import intervals, svg
from tasks.reporting.sections import Section, render_sections
from tasks.reporting.show import Cell, Table, differences, listed
from tasks.statistics.sign_flips import FEWEST
from tasks.tracking.comparison import COLUMNS
from tasks.tracking.differences import COST

_SHOWN, _UNTESTED = 30, 10
"""Most measures that are listed, and most values of committed tables."""
_COUNT = re.compile(r"(?<![\d.])\d+(?![\d.]*\d)")
_HASH = re.compile(r"[0-9a-f]{32}(\.dir)?")
"""DVC's hash of a file or folder."""
SPLIT, DRAWN_BY = "compared as independent samples: ", "sample"
"""Begins the note on a measure whose records do not pair; the stage whose inputs decide which records there are."""
APART = "● apart: moved beyond chance"
"""Mark of a key figure whose intervals have no value in common."""
CODE = "fingerprints/code/"
"""Folder of the files that hold what the code of each stage is."""
CHANGED, SAME = "#b3261e", "#5d6b7a"


@dataclass(frozen=True)
class Compared:
    """Two lineages by name, with the tables of `tasks.tracking` on their differences.

    ``figures``: the key figures of both. ``measures``: tested by the scores of single records; ``values``: of metric
    tables, of what has no such scores. ``missing`` says which tables of single records are not at hand, if nothing was
    tested for that; ``unlike``, which measures only one of them has; ``behind``, which stages were not rebuilt.
    """

    a: str
    b: str
    figures: pd.DataFrame
    inputs: pd.DataFrame
    stages: pd.DataFrame
    costs: pd.DataFrame
    measures: pd.DataFrame
    values: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=COLUMNS))
    missing: str = ""
    unlike: Sequence[str] = ()
    behind: Sequence[str] = ()

    @property
    def moved(self) -> int:
        """Number of measures that changed beyond chance."""
        return int(self.measures["changed"].sum())

    @property
    def told(self) -> pd.DataFrame:
        """The measures of which both lineages scored the same records."""
        return self.measures[self.measures["n"] > 0]

    @property
    def ordered(self) -> pd.DataFrame:
        """The measures, smallest p first; untested ones by their relative difference, the largest first."""
        return self.measures.assign(order=-_relative(self.measures)).sort_values(["p", "order", "stage"])

    @property
    def ordered_values(self) -> pd.DataFrame:
        """The values that differ as printed, of all items first, by relative difference; then the others."""
        ranked = self.values.assign(order=-_relative(self.values), hidden=~_differs(self.values))
        return ranked.assign(part=ranked["item"] != "all").sort_values(["hidden", "part", "order", "stage"])

    @property
    def visible(self) -> pd.DataFrame:
        """The values that differ as printed, in that order."""
        return self.ordered_values[_differs(self.ordered_values)]

    @property
    def warnings(self) -> list[str]:
        """What is missing, and one sentence for each kind of note on measures, with how many measures have it."""
        kinds: dict[str, list[str]] = {}
        for note in self.measures["note"]:
            for part in filter(None, note.split("; ")):
                kinds.setdefault(_COUNT.sub("#", part), []).append(part)
        said = [
            f"{self._cause(_merged(parts))} ({len(parts)} of {len(self.measures)} measures)" for parts in kinds.values()
        ]
        if few := int((self.told["n"] < FEWEST).sum()):
            said.append(f"too few records (below {FEWEST}) to show any change: {few} of the measures")
        return [*self.behind, *filter(None, [self.missing]), *self.unlike, *said]

    def _cause(self, note: str) -> str:
        """The note, after what in the inputs explains that records do not pair."""
        drawn = self.inputs[self.inputs["stages"].str.split(", ").map(lambda readers: DRAWN_BY in readers)]
        if not (note.startswith(SPLIT) and "records pair" in note and len(drawn)):
            return note
        params = drawn[drawn["kind"] == "param"]
        rows = (params if len(params) else drawn).to_dict("records")
        named = [f"{row['name']} ({_short(row['a'])} -> {_short(row['b'])})" for row in rows]
        return f"{' and '.join(named)} changed, so other records were drawn: {note}"


def _relative(table: pd.DataFrame) -> pd.Series:
    return table["difference"].abs() / table[["a", "b"]].abs().max(axis=1)


def _differs(table: pd.DataFrame) -> pd.Series:
    """Whether both values of a row differ as they are printed."""
    return table["a"].map(number) != table["b"].map(number)


def _merged(notes: Sequence[str]) -> str:
    """Notes of equal wording as one, with the range of each count."""
    counts = zip(*(map(int, _COUNT.findall(note)) for note in notes), strict=True)
    ranges = iter([_range(of, str) for of in counts])
    return _COUNT.sub(lambda _: next(ranges), notes[0])


def _range(values: Sequence[float], write: Callable[[float], str]) -> str:
    return " to ".join(dict.fromkeys([write(min(values)), write(max(values))]))


def terminal_text(found: Compared) -> str:
    """Plain text: inputs and stages that differ, warnings, key figures, the measures that changed, and the cost."""
    code = found.inputs["name"].str.startswith(CODE)
    lines = [f"{found.a} -> {found.b}", "", f"inputs that differ, as dvc.lock has them: {len(found.inputs)}"]
    if code.any():
        lines.append(f"  code      of {', '.join(Path(name).stem for name in found.inputs['name'][code])}")
    for row in found.inputs[~code].to_dict("records"):
        some = f" (for {row['stages']}; not rebuilt: {row['unchanged']})" if row["unchanged"] else ""
        lines.append(f"  {row['kind']:9} {row['name']}  {_short(row['a'])} -> {_short(row['b'])}{some}")
    lines += ["", f"stages that changed: {', '.join(found.stages['stage']) or 'none'}", ""]
    lines += [*(f"warning: {warning}" for warning in found.warnings), *([""] if found.warnings else [])]
    lines.append("key figures:" if len(found.figures) else "key figures: of neither lineage")
    figures = found.figures.to_dict("records")
    lines += [
        f"  {row['name']:24} {_figure(row, 'a')} -> {_figure(row, 'b')}" + ("  " + APART if row["apart"] else "")
        for row in figures
    ]
    if without := [
        row["name"] for row in figures if not (row["low_a"] == row["low_a"] and row["low_b"] == row["low_b"])
    ]:
        lines.append(f"  without an interval in both: {', '.join(without)}")
    lines.append("")
    if not found.missing:
        lines.append(f"measures compared: {len(found.told)}; changed beyond chance (5% family-wise): {found.moved}")
        lines += [] if len(found.measures) else [f"  {_nothing(found)}"]
    changed = found.ordered[found.ordered["changed"].astype(bool)]
    lines += [_row(row) for row in changed.head(_SHOWN).to_dict("records")]
    unchanged = found.told[~found.told["changed"].astype(bool) & found.told["detectable"].notna()]
    if len(unchanged):
        least, of = unchanged["detectable"], f"{_range(unchanged['n'], '{:,}'.format)} records each"
        of += " (of the smaller lineage where they do not pair)" if unchanged["note"].str.contains(SPLIT).any() else ""
        lines += [
            f"  no change shown in {len(unchanged)}, of {of}; differences that tests of one measure",
            f"  alone find with a power of 80%: {_range(least, number)}, median {number(least.median())} (CSV)",
        ]
    lines += _rest(changed, _SHOWN)
    if found.missing or len(found.values):
        of = "the metric tables" if found.missing else "metric tables of what has no scores by record"
        beyond = f"beyond the printed digits: {len(found.visible)}, of all items first, by relative difference"
        lines.append(f"values that differ in {of}: {len(found.values)}, none of them tested; {beyond}")
        lines += [_row(row) for row in found.visible.head(_UNTESTED).to_dict("records")]
        lines += _rest(found.visible, _UNTESTED)
    lines.append("")
    if not len(found.costs):
        return "\n".join([*lines, "cost: not known here: neither lineage is recorded in this clone"])
    total = found.costs.drop(columns="stage").sum(skipna=False)
    parts = [f"{what} {_spent(total, what, 'a')} -> {_spent(total, what, 'b')}" for what in COST]
    return "\n".join([*lines, f"cost: {', '.join(parts)}"])


def _nothing(found: Compared) -> str:
    """Why no measure is tested though all scores are at hand."""
    if found.unlike:
        return "the lineages have no measure in common whose scores differ; see what only one of them has"
    if len(found.stages):
        return "no table of scores or predictions by record, of those in both, differs, so that nothing is tested"
    return "no stage has other outputs: both have the same scores"


def _row(row: Mapping[Any, Any]) -> str:
    """A measure or value of both lineages, with what is known of the difference."""
    where = f"{row['stage']}  {row['system']}, {row['condition']}, {row['item']}, {row['metric']}"
    spread = "" if math.isnan(row["low"]) else f" [{signed(row['low'])}, {signed(row['high'])}]"
    p = "" if math.isnan(row["p"]) else f", p {probability(row['p'])}"
    change = f"{signed(row['difference'])}{spread}{p}, n {row['n']}"
    return f"  {where}: {number(row['a'])} -> {number(row['b'])} ({change})"


def _rest(rows: pd.DataFrame, most: int) -> list[str]:
    return [f"  ... and {len(rows) - most} more in the CSV file"] if len(rows) > most else []


def _spent(costs: Mapping[Any, Any], what: str, side: str) -> str:
    """A cost of one lineage, whose calls may not have been made in this clone."""
    value = costs[f"{what}_{side}"]
    return "unknown" if math.isnan(value) else format(value, ",.2f" if what == "dollars" else ",.0f")


def render_comparison(found: Compared) -> str:
    """One self-contained HTML page; all names are escaped."""
    inputs, stages, costs = (table.to_dict("records") for table in (found.inputs, found.stages, found.costs))
    a, b = found.a, found.b
    sections = []
    if len(found.figures):
        rows = [
            {"name": words(row["name"]), "a": _figure(row, "a"), "b": _figure(row, "b")}
            | {"ends": APART if row["apart"] else "overlap" if row["low_a"] + row["low_b"] < math.inf else "none"}
            for row in found.figures.to_dict("records")
        ]
        columns = {"name": "figure", "a": a, "b": b, "ends": "95% intervals"}
        sections.append(Section("figures", "Key figures", tables=[listed(rows, columns, kind="wrap")]))
    sections += [_measures(found)] if len(found.measures) else []
    if len(found.values):
        tables = [_differences(found, found.ordered_values.to_dict("records"))]
        sections.append(Section("values", "Values that are not tested", tables=tables, filter="filter values"))
    if inputs:
        columns = {"kind": "kind", "name": "name", "a": a, "b": b, "stages": "for stages"}
        sections.append(Section("inputs", "Inputs that differ", tables=[listed(inputs, columns, heads=2, kind="wrap")]))
    if stages:
        columns = {"stage": "stage", "outputs": "outputs"}
        sections.append(Section("stages", "Stages that changed", tables=[listed(stages, columns, kind="wrap")]))
    if costs:
        columns = {"stage": "stage"} | {
            f"{what}_{side}": f"{what}, {name}" for side, name in (("a", a), ("b", b)) for what in COST
        }
        rows = [row | {f"{what}_{side}": _spent(row, what, side) for side in "ab" for what in COST} for row in costs]
        sections.append(Section("cost", "Cost", [paragraph("cost")], tables=[listed(rows, columns)]))
    same = [] if inputs or stages else ["The lineages have the same inputs and outputs."]
    head = Section("summary", f"{a} → {b}", [_summary(found), *same], found.warnings)
    return render_sections(f"{a} and {b} compared", head, sections, scripts=["tables.js"])


def _summary(found: Compared) -> str:
    """What the measures say, and how they were tested."""
    size, values = len(found.told), ""
    if found.missing or len(found.values):
        why = "not at hand" if found.missing else "not kept"
        values = paragraph("values", size=len(found.values), visible=len(found.visible), why=why)
    if not size:
        nothing = "" if found.missing or len(found.measures) else f"{_nothing(found).capitalize()}."
        return f"{nothing} {values}".strip()
    split = int(found.measures["note"].str.contains("independent samples").sum())
    said = paragraph("measures", moved=found.moved, size=size)
    said += paragraph("split", split=split, are="is" if split == 1 else "are") if split else ""
    if split < size:
        most = int(found.measures["unpaired"].max())
        rest = f"; up to {most:,} further ones do not pair and are left out" if most else ""
        said += paragraph("paired", which="The others" if split else "All", rest=rest)
    return f"{said} {values}".strip()


def _differences(found: Compared, rows: Sequence[Mapping[str, Any]]) -> Table:
    """The table of measures, or of values, of both lineages."""

    def measure(row: Mapping[str, Any]) -> Cell:
        where = ", ".join(row[name] for name in ("system", "condition", "item") if row[name])
        return Cell(words(row["metric"]), small=(f"{row['stage']}: {where}",))

    more = {"failed_a": f"failed, {found.a}", "failed_b": f"failed, {found.b}",
            "bound": "difference in the worst case of failed records"}  # fmt: skip
    whole = [{**row, **{side: row[side] + row["failed_both"] for side in ("failed_a", "failed_b")}} for row in rows]
    return differences(whole, {"measure": measure}, (found.a, found.b), more=more)


def _measures(found: Compared) -> Section:
    # Smallest p first; what may differ by more than 1, as counts do, needs another scale.
    drawn = found.ordered[found.ordered["low"].ge(-1) & found.ordered["high"].le(1)].head(_SHOWN)
    names = [
        words(", ".join(str(part) for part in row if part not in ("", "all"))) + f" (n\u00a0{n})"
        for *row, n in drawn[["metric", "system", "condition", "item", "n"]].itertuples(index=False)
    ]
    figure = None
    if names:
        colours = [CHANGED if changed else SAME for changed in drawn["changed"]]
        label = "difference with 95% interval; red: more than chance explains"
        forest = intervals(names, drawn.assign(value=drawn["difference"]), label, colours)
        figure = (svg(forest), paragraph("measures_figure"))
    table = _differences(found, found.ordered.to_dict("records"))
    return Section("measures", "Measures", figure=figure, tables=[table], filter="filter measures")


def _figure(row: Mapping[str, Any], side: str) -> str:
    low, high = row[f"low_{side}"], row[f"high_{side}"]
    return number(row[side]) + (f" [{number(low)}, {number(high)}]" if low == low else "")


def _short(value: object) -> str:
    text = str(value) or "(absent)"
    return f"{text[:10]}…" if _HASH.fullmatch(text) else text
