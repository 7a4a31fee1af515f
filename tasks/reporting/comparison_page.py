"""Displays the comparison of two lineages as text for the terminal and as an HTML page with a figure."""

from importlib.resources import files

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib import rc_context
from matplotlib.figure import Figure

from tasks.reporting.figures import svg
from tasks.reporting.numbers import number
from tasks.reporting.style import SETTINGS

_SHOWN = 30


def terminal_text(
    a: str, b: str, inputs: pd.DataFrame, stages: pd.DataFrame, costs: pd.DataFrame, measures: pd.DataFrame
) -> str:
    """Plain text: inputs, stages, cost, and the measures that changed, smallest p first."""
    lines = [f"{a} -> {b}", "", f"inputs that differ: {len(inputs)}"]
    lines += [
        f"  {row['kind']:9} {row['name']}  {_short(row['a'])} -> {_short(row['b'])}"
        for row in inputs.to_dict("records")
    ]
    lines += ["", f"stages that changed: {', '.join(stages['stage']) or 'none'}", "", _cost_line(costs), ""]
    moved = measures[measures["changed"].astype(bool)] if len(measures) else measures
    lines.append(f"measures compared: {len(measures)}; changed beyond chance (5% family-wise): {len(moved)}")
    for row in moved.sort_values("p").head(_SHOWN).itertuples():
        where = f"{row.stage}  {row.system}, {row.condition}, {row.item}, {row.metric}"
        spread = f"{row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}]"
        lines.append(f"  {where}: {number(row.a)} -> {number(row.b)} ({spread}, p {row.p:.3f}, n {row.n})")
    return "\n".join([*lines, *_warnings(measures)])


def _warnings(measures: pd.DataFrame) -> list[str]:
    """Notes on measures, with the number of measures that each applies to."""
    notes = measures["note"].loc[measures["note"] != ""].value_counts() if len(measures) else {}
    return [f"warning: {note} ({count} of {len(measures)} measures)" for note, count in notes.items()]


def render_comparison(
    a: str, b: str, inputs: pd.DataFrame, stages: pd.DataFrame, costs: pd.DataFrame, measures: pd.DataFrame
) -> str:
    """One self-contained HTML page; all names are escaped."""
    environment = Environment(
        loader=PackageLoader("tasks.reporting"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    figure = _forest(measures)
    return environment.get_template("comparison.html").render(
        css=files("tasks.reporting").joinpath("templates", "report.css").read_text(encoding="utf-8"),
        a=a,
        b=b,
        inputs=inputs.to_dict("records"),
        stages=stages.to_dict("records"),
        costs=costs.to_dict("records"),
        measures=measures.sort_values(["p", "stage"]).to_dict("records") if len(measures) else [],
        moved=int(measures["changed"].sum()) if len(measures) else 0,
        figure=svg(figure) if figure else "",
        warnings=_warnings(measures),
        number=number,
    )


def _forest(measures: pd.DataFrame) -> Figure | None:
    """Differences with their intervals, smallest p first."""
    measured = measures[measures["low"].notna()] if len(measures) else measures
    shown = measured.sort_values("p").head(_SHOWN)[::-1]
    if not len(shown):
        return None
    with rc_context(SETTINGS):
        figure = Figure(figsize=(7.5, 0.24 * len(shown) + 0.9))
        axes = figure.add_subplot()
        for place, (_, row) in enumerate(shown.iterrows()):
            colour = "#b3261e" if row["changed"] else "#5d6b7a"
            axes.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=1.2)
            axes.plot(row["difference"], place, "o", color=colour, markersize=4)
        labels = [
            ", ".join(str(row[c]) for c in ("system", "condition", "item", "metric")) for _, row in shown.iterrows()
        ]
        axes.set_yticks(range(len(labels)), labels, fontsize=7)
        axes.axvline(0, color="#8fa1b1", linewidth=0.8)
        axes.set_xlabel("difference with 95% interval; red: changed beyond chance (5% family-wise)")
    return figure


def _cost_line(costs: pd.DataFrame) -> str:
    if not len(costs):
        return "cost: neither lineage is recorded in this clone"
    total = costs.drop(columns="stage").sum()
    parts = [f"{what} {total[f'{what}_a']:,.0f} -> {total[f'{what}_b']:,.0f}" for what in ("calls", "tokens")]
    return f"cost: {', '.join(parts)}, dollars {total['dollars_a']:.2f} -> {total['dollars_b']:.2f}"


def _short(value: object) -> str:
    text = str(value) or "(absent)"
    return f"{text[:10]}…" if len(text) in (32, 36) and " " not in text else text  # DVC hashes of files and folders
