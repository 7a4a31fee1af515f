"""Figures of the report, as SVG text with fixed ids so that the same tables give the same bytes."""

import io
from collections.abc import Callable

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from tasks.reporting.baseline_figures import embedding_types, evidence_settings
from tasks.reporting.style import COLOURS, SETTINGS

Draw = Callable[[pd.DataFrame], Figure | None]
"""Draws one metric table; None when the table does not hold what the figure shows."""


def svg(figure: Figure) -> str:
    """The figure as an SVG element, without XML head."""
    with mpl.rc_context(SETTINGS):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def agreement(rows: pd.DataFrame) -> Figure | None:
    """Published against reproduced figures of all judged rows, one panel a basis."""
    judged = rows[(rows["verdict"] != "absent") & rows["reproduced"].notna()]
    bases = sorted(judged["basis"].unique())
    if not bases:
        return None
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(3.1 * len(bases), 3))
        for place, basis in enumerate(bases):
            axes = figure.add_subplot(1, len(bases), place + 1)
            part = judged[judged["basis"] == basis]
            for verdict, label, colour in (("pass", "met", "#1d7a3e"), ("fail", "missed", "#b3261e")):
                chosen = part[part["verdict"] == verdict]
                axes.scatter(chosen["published"], chosen["reproduced"], s=14, color=colour, alpha=0.7, label=label)
            limits = [min(part["published"].min(), 0), part["published"].max() * 1.05]
            axes.plot(limits, limits, color="#8fa1b1", linewidth=0.8)
            axes.set(title=f"{basis} ({len(part)})", xlabel="printed", ylabel="reproduced" if place == 0 else "")
        figure.axes[0].legend(frameon=False)
        figure.tight_layout()
    return figure


def grouped_points(metric: str, title: str) -> Draw:
    """A drawer of one metric with intervals: items along x, one colour a system and condition."""

    def draw(table: pd.DataFrame) -> Figure | None:
        part = table[(table["metric"] == metric) & table["value"].notna()]
        groups = list(part.groupby(["system", "condition"], sort=False))
        if not groups or len(groups) > 18:
            return None
        items = list(dict.fromkeys(part["item"]))
        with mpl.rc_context(SETTINGS):
            figure = Figure(figsize=(max(5.0, 0.9 * len(items) + 3), 3))
            axes = figure.add_subplot()
            for place, ((system, condition), group) in enumerate(groups):
                shift = (place - (len(groups) - 1) / 2) * 0.7 / len(groups)
                x = [items.index(item) + shift for item in group["item"]]
                spread = [(group["value"] - group["low"]).clip(lower=0), (group["high"] - group["value"]).clip(lower=0)]
                axes.errorbar(x, group["value"], yerr=spread, fmt="o", markersize=3.5, linewidth=1,
                              color=COLOURS[place % len(COLOURS)], label=f"{system}, {condition}")  # fmt: skip
            axes.set_xticks(range(len(items)), items, rotation=20 if len(items) > 5 else 0)
            axes.set(title=title, ylabel=metric)
            axes.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure

    return draw


FIGURES: dict[str, tuple[Draw, ...]] = {
    "baselines": (embedding_types, evidence_settings),
    "doclens": (grouped_points("claim_recall", "Claim recall"),),
    "calibration": (grouped_points("precision", "Precision"), grouped_points("recall", "Recall")),
    "planted_errors": (grouped_points("recall", "Recall by kind of planted error"),),
}
"""Drawers of a metric table's figures, by the table's stem."""


def draw_all(stem: str, table: pd.DataFrame) -> list[str]:
    """SVG of each figure that the table has."""
    drawn = [draw(table) for draw in FIGURES.get(stem, ())]
    return [svg(figure) for figure in drawn if figure is not None]
