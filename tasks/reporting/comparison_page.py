"""Displays the comparison of two lineages as text for the terminal and as an HTML page with a figure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tasks.reporting.display import number, probability, signed, words
from tasks.reporting.figures import intervals, svg
from tasks.reporting.sections import Section, render_sections
from tasks.reporting.show import Cell, differences, listed

_SHOWN = 30
CHANGED, SAME = "#b3261e", "#5d6b7a"


@dataclass(frozen=True)
class Compared:
    """Two lineages by name, with the tables of `tasks.tracking` on their differences.

    ``missing`` says which tables of single records are not at hand, if the measures were not tested for that.
    """

    a: str
    b: str
    inputs: pd.DataFrame
    stages: pd.DataFrame
    costs: pd.DataFrame
    measures: pd.DataFrame
    missing: str = ""

    @property
    def moved(self) -> int:
        """Number of measures that changed beyond chance."""
        return int(self.measures["changed"].sum()) if len(self.measures) else 0

    @property
    def ordered(self) -> pd.DataFrame:
        """The measures, smallest p first; untested ones by their relative difference, the largest first."""
        table = self.measures
        if not len(table):
            return table
        relative = table["difference"].abs() / table[["a", "b"]].abs().max(axis=1)
        hidden = table["a"].map(number) == table["b"].map(number)
        ranked = table.assign(order=-relative, hidden=hidden if self.missing else False)
        return ranked.sort_values(["hidden", "p", "order", "stage"]).drop(columns=["order", "hidden"])

    @property
    def visible(self) -> pd.DataFrame:
        """The measures whose values differ as printed, in that order."""
        table = self.ordered
        return table[table["a"].map(number) != table["b"].map(number)]

    @property
    def warnings(self) -> list[str]:
        """What is missing, and the notes on measures, with the number of measures that each applies to."""
        notes = self.measures["note"].loc[self.measures["note"] != ""].value_counts() if len(self.measures) else {}
        said = [f"{note} ({count} of {len(self.measures)} measures)" for note, count in notes.items()]
        return [self.missing, *said] if self.missing else said


def terminal_text(found: Compared) -> str:
    """Plain text: inputs, stages, cost, and the measures that changed, smallest p first."""
    lines = [f"{found.a} -> {found.b}", "", f"inputs that differ: {len(found.inputs)}"]
    lines += [
        f"  {row['kind']:9} {row['name']}  {_short(row['a'])} -> {_short(row['b'])}"
        for row in found.inputs.to_dict("records")
    ]
    changed = ", ".join(found.stages["stage"]) or "none"
    lines += ["", f"stages that changed: {changed}", "", _cost_line(found.costs), ""]
    if found.missing:
        beyond = f"beyond the printed digits: {len(found.visible)}"
        lines.append(f"values that differ in the metric tables: {len(found.measures)}; {beyond}; none is tested")
    else:
        lines.append(f"measures compared: {len(found.measures)}; changed beyond chance (5% family-wise): {found.moved}")
        if not len(found.measures):
            lines.append(f"  {_why_nothing(found)}")
    shown = found.visible if found.missing else found.ordered[found.ordered["changed"].astype(bool)]
    for row in shown.head(_SHOWN).itertuples():
        where = f"{row.stage}  {row.system}, {row.condition}, {row.item}, {row.metric}"
        spread = "" if math.isnan(row.low) else f" [{signed(row.low)}, {signed(row.high)}]"
        p = "" if math.isnan(row.p) else f", p {probability(row.p)}"
        lines.append(f"  {where}: {number(row.a)} -> {number(row.b)} ({signed(row.difference)}{spread}{p}, n {row.n})")
    unchanged = found.measures[~found.measures["changed"].astype(bool)] if len(found.measures) else found.measures
    if not found.missing and len(unchanged) and unchanged["detectable"].notna().any():
        lines.append(f"  no change shown in {len(unchanged)}; in half of them one would be found, with a power of 80%,")
        lines.append(
            f"  difference of {number(float(unchanged['detectable'].median()))}; each has its own in the CSV file"
        )
    if len(shown) > _SHOWN:
        lines.append(f"  ... and {len(shown) - _SHOWN} more in the CSV file")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])


def _why_nothing(found: Compared) -> str:
    if not len(found.stages):
        return "no stage has other outputs: both have the same scores"
    return "no table of scores or predictions by record differs; what changed is in the committed tables: git diff"


def render_comparison(found: Compared) -> str:
    """One self-contained HTML page; all names are escaped."""
    inputs, stages, costs = (table.to_dict("records") for table in (found.inputs, found.stages, found.costs))
    a, b = found.a, found.b
    sections = [_measures(found)] if len(found.measures) else []
    if inputs:
        columns = {"kind": "kind", "name": "name", "a": a, "b": b, "stages": "read by"}
        sections.append(Section("inputs", "Inputs that differ", tables=[listed(inputs, columns, heads=2, kind="wrap")]))
    if stages:
        columns = {"stage": "stage", "outputs": "outputs"}
        sections.append(Section("stages", "Stages that changed", tables=[listed(stages, columns, kind="wrap")]))
    if costs:
        said = (
            "Calls, tokens and dollars of the stored replies that each lineage used, including replies of earlier runs."
        )
        columns = {"stage": "stage"} | {
            f"{what}_{side}": f"{what}, {name}"
            for side, name in (("a", a), ("b", b))
            for what in ("calls", "tokens", "dollars")
        }
        rows = [
            row | {key: format(row[key], ",.2f" if key.startswith("dollars") else ",.0f") for key in [*columns][1:]}
            for row in costs
        ]
        sections.append(Section("cost", "Cost", [said], tables=[listed(rows, columns)]))
    same = [] if inputs or stages else ["The lineages have the same inputs and outputs."]
    head = Section("summary", f"{a} → {b}", [_summary(found), *same], found.warnings)
    return render_sections(f"{a} and {b} compared", head, sections, scripts=["tables.js"])


def _summary(found: Compared) -> str:
    """What the measures say, and how they were tested."""
    size = len(found.measures)
    if found.missing:
        return (
            f"{size} values of the metric tables differ. Whether chance explains them was not tested, as scores of "
            "single "
            f"records are not at hand; those that differ as printed ({len(found.visible)}) come first."
        )
    if not size:
        more = (
            " What changed are inputs, costs, or figures that are not means over records." if len(found.stages) else ""
        )
        return f"No score of a record, note or document differs, so there is nothing to test.{more}"
    split = int(found.measures["note"].str.contains("independent samples").sum())
    said = (
        f"{found.moved} of {size} measures changed by more than chance explains (●): if nothing had changed, at "
        "most 5 in "
        "100 comparisons like this would mark any measure at all (family-wise error rate). A measure that is not "
        "marked "
        "may have changed by as much as its interval allows. "
    )
    if split:
        said += (
            f"{split} of them {'is' if split == 1 else 'are'} compared as independent samples, because fewer than "
            "95% of "
            "the records are known to have the same id and content in both lineages. "
        )
    if split < size:
        said += f"{'The others' if split else 'Both lineages'} are scored on the same records. "
    return said + "p is adjusted for all measures, intervals are not."


def _measures(found: Compared) -> Section:
    def measure(row: Mapping[str, Any]) -> Cell:
        where = ", ".join(row[name] for name in ("system", "condition", "item") if row[name])
        return Cell(words(row["metric"]), small=(f"{row['stage']}: {where}",))

    more = {"failed_a": f"failed, {found.a}", "failed_b": f"failed, {found.b}",
            "bound": "difference in the worst case of failed records"}  # fmt: skip
    rows = found.ordered.to_dict("records")
    figure = _forest(found.ordered)
    return Section(
        "measures",
        "Measures",
        figure=(
            svg(figure),
            "Measures between 0 and 1, those that differ by more than chance first; counts are in the table.",
        )
        if figure
        else None,
        tables=[differences(rows, {"measure": measure}, (found.a, found.b), more=more)],
        filter="filter measures",
    )


def _forest(measures: pd.DataFrame) -> Figure | None:
    """Differences of shares, scores and F1 with their intervals, smallest p first; counts need another scale."""
    shown = measures[measures["low"].ge(-1) & measures["high"].le(1)].head(_SHOWN)
    if not len(shown):
        return None
    names = [
        words(", ".join(str(part) for part in row if part not in ("", "all"))) + f" (n\u00a0{n})"
        for *row, n in shown[["metric", "system", "condition", "item", "n"]].itertuples(index=False)
    ]
    colours = [CHANGED if changed else SAME for changed in shown["changed"]]
    label = "difference with 95% interval; red: more than chance explains"
    return intervals(names, shown.assign(value=shown["difference"]), label, colours)


def _cost_line(costs: pd.DataFrame) -> str:
    if not len(costs):
        return "cost: not known here: the calls of neither lineage were made in this clone"
    total = costs.drop(columns="stage").sum()
    parts = [f"{what} {total[f'{what}_a']:,.0f} -> {total[f'{what}_b']:,.0f}" for what in ("calls", "tokens")]
    return f"cost: {', '.join(parts)}, dollars {total['dollars_a']:.2f} -> {total['dollars_b']:.2f}"


def _short(value: object) -> str:
    text = str(value) or "(absent)"
    return f"{text[:10]}…" if len(text) in (32, 36) and " " not in text else text  # DVC hashes of files and folders
