"""Displays the comparison of two lineages as text for the terminal and as an HTML page with a figure."""

import math
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from tasks.reporting.display import number, probability, read_template, render, signed, words
from tasks.reporting.figures import intervals, svg

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
    figure = _forest(found.ordered) if len(found.measures) else None
    return render(
        "comparison.html",
        style=read_template("report.css") + read_template("comparison.css"),
        script=read_template("tables.js"),
        found=found,
        inputs=found.inputs.to_dict("records"),
        stages=found.stages.to_dict("records"),
        costs=found.costs.to_dict("records"),
        measures=found.ordered.to_dict("records"),
        split=int(found.measures["note"].str.contains("independent samples").sum()) if len(found.measures) else 0,
        figure=svg(figure) if figure else "",
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
