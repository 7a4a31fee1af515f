"""Figures of the pages as SVG text; element ids are fixed, so that equal tables give equal bytes."""

import io
import math
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tasks.measures.report import report
from tasks.reporting.display import words

SETTINGS: Any = {
    "svg.hashsalt": "vignette",  # fixes the ids of SVG elements
    "svg.fonttype": "none",
    "font.size": 9,
    "text.parse_math": False,  # names may hold dollars
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e3e8ed",
}
COLOURS = ("#0b6b74", "#d89614", "#7b5aa6", "#b3261e", "#4c8c4a", "#5d6b7a")
LINE = "#8fa1b1"
"""Colour of lines that values are compared with: the diagonal, and zero."""
EVIDENCE = ("all", "no-sympt", "realistic")


def evidence_settings(table: pd.DataFrame) -> Figure | None:
    """F1 by evidence setting and symptom with intervals, one panel per model with tabular features."""
    rows = table[(table["metric"] == "f1") & table["value"].notna()]
    rows = rows.assign(key=rows["system"] + "|" + rows["condition"])
    titles = {"BN-tab|": "BN-tab", "XGBoost-tab|": "XGBoost-tab"}
    titles |= {f"{system}|normal/": f"{system}, normal notes" for system in ("neural-text-tab", "BN-text")}
    panels = [(title, [start + setting for setting in EVIDENCE]) for start, title in titles.items()]
    panels = [(title, keys) for title, keys in panels if rows["key"].isin(keys).any()]
    if not panels:
        return None
    symptoms = sorted(set(rows["item"]) - {"all", "mean"})
    with rc_context(SETTINGS):
        figure, grid = _panels(len(panels), max(3.0, 4.5 / len(panels)), 2.7)
        for place, (axes, (title, keys)) in enumerate(zip(grid, panels, strict=True)):
            for number, (one, label) in enumerate(zip(keys, EVIDENCE, strict=True)):
                part = rows[rows["key"] == one].set_index("item").reindex(symptoms)
                x = [s + (number - (len(EVIDENCE) - 1) / 2) * 0.8 / len(EVIDENCE) for s in range(len(symptoms))]
                spread = [(part["value"] - part["low"]).clip(lower=0), (part["high"] - part["value"]).clip(lower=0)]
                axes.bar(x, part["value"], 0.76 / len(EVIDENCE), yerr=spread, label=label, color=COLOURS[number],
                         error_kw={"elinewidth": 0.6, "ecolor": "#1d2733"})  # fmt: skip
            axes.set_xticks(range(len(symptoms)), symptoms, rotation=25, fontsize=8)
            axes.set(title=title, ylabel="F1" if place == 0 else "", ylim=(0, 1))
        figure.axes[-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.tight_layout()
    return figure


def _panels(count: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with panels of that size in inches, at most three side by side, which a narrow page does not shrink."""
    rows = math.ceil(count / 3)
    columns = math.ceil(count / rows)
    figure = Figure(figsize=(width * columns, height * rows))
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(count)]


Draw = Callable[[pd.DataFrame], Figure | None]
"""Draws one metric table; returns None when the table lacks the rows of the figure."""


def svg(figure: Figure) -> str:
    """SVG element of the figure, without XML header."""
    with rc_context(SETTINGS):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def intervals(names: Sequence[str], rows: pd.DataFrame, label: str, colours: Sequence[str] = ()) -> Figure:
    """Values of ``rows`` with their intervals (columns value, low, high), from top to bottom under ``names``.

    Long names are broken into lines. A line is drawn at zero if an interval holds it.
    """
    with rc_context(SETTINGS):
        broken = [fill(name, 44) for name in names]
        lines = max(name.count("\n") + 1 for name in broken)
        figure = Figure(figsize=(5.2, (0.1 + 0.14 * lines) * len(rows) + 0.8))
        axes = figure.add_subplot()
        for place, row in enumerate(rows[::-1].itertuples()):
            colour = colours[len(rows) - 1 - place] if colours else COLOURS[0]
            if pd.notna(row.low):
                axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.6)
            axes.plot(row.value, place, "o", color=colour, markersize=4)
        axes.set_yticks(range(len(rows)), broken[::-1])
        axes.set_xlabel(label)
        if rows["low"].min() < 0 < rows["high"].max():
            axes.axvline(0, color=LINE, linewidth=0.8)
    return figure


def forest(
    *metrics: str, parts: tuple[str, ...] = ("system", "condition", "item"), label: str = "", percent: bool = False
) -> Draw:
    """Forest plot of ``metrics``, one row per table row with its interval, labelled by the columns ``parts``.

    None where no row has an interval, as on few records.
    """

    def draw(table: pd.DataFrame) -> Figure | None:
        rows = table[table["metric"].isin(metrics) & table["value"].notna()]
        if not 1 < len(rows) <= 30 or rows["low"].isna().all():
            return None
        names = [words(", ".join(str(getattr(row, part)) for part in parts)) for row in rows.itertuples()]
        names = [f"{name} (n\u00a0{n:,})" if n else name for name, n in zip(names, rows["n"], strict=True)]  # 0: exact
        figure = intervals(names, rows, (label or words(", ".join(metrics))) + ", 95% interval")
        if percent:
            figure.axes[0].xaxis.set_major_locator(MaxNLocator(4))  # more labels of full width run into each other
            figure.axes[0].xaxis.set_major_formatter(PercentFormatter(1))
        return figure

    return draw


def _people(table: pd.DataFrame) -> Figure | None:
    """Correlation of claim recall and of overlap with people's factual recall of all summaries, by judge."""
    shown = table["item"].isin(("claim_recall", "claim_recall_graded", "rouge1_r", "rougeL_f"))
    chosen = table[shown & (table["condition"] == "FactualRecall, all summaries")]
    return forest("pearson", parts=("system", "item"), label="Pearson's r with people's factual recall")(chosen)


def against_truth(table: pd.DataFrame) -> Figure | None:
    """Mean of each metric of a system against the truth, a panel for each metric.

    The truth of damaged summaries is known: their recall where facts were removed, else their precision; that of
    written ones is the judged true recall.
    """
    means = table[table["item"] == "all"].pivot_table(index="system", columns="metric", values="value")
    places = {name: place for named in report("against_truth").values() for name, place in named.items()}
    shown = [name for name in sorted(places, key=lambda name: places[name]) if name in means]
    if not shown or not {"known_recall", "known_precision", "true_recall"} <= set(means.columns):
        return None
    groups = {
        "facts removed": (means.index.str.match("removed|undamaged"), means["known_recall"]),
        "invented facts added": (means.index.str.match("invented|undamaged"), means["known_precision"]),
        "contradictions added": (means.index.str.match("contradicted|undamaged"), means["known_precision"]),
        "written": (means["known_recall"].isna(), means["true_recall"]),
    }
    with rc_context(SETTINGS):
        figure, grid = _panels(len(shown), 2.5, 2.6)
        for axes, name in zip(grid, shown, strict=True):
            for (label, (chosen, truth)), colour, mark in zip(groups.items(), COLOURS, "ovsD", strict=False):
                # Marks at the edges are drawn whole.
                style: Any = {"color": colour, "markersize": 5, "alpha": 0.8, "clip_on": False}
                axes.plot(truth[chosen], means.loc[chosen, name], mark, label=label, **style)
            axes.set(title=words(name), xlabel="truth (share)", xlim=(0, 1.05))
            axes.set_ylim(bottom=0)
        figure.tight_layout()
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, frameon=False, fontsize=8, ncol=4, loc="upper center", bbox_to_anchor=(0.5, 0.02)
        )
    return figure


FIGURES: dict[str, tuple[Draw, str]] = {
    "baselines": (evidence_settings, "F1 by evidence setting, for models with tabular features."),
    "network_causal": (
        forest("effect", parts=("system", "condition"), label="effect of the treatment on the outcome"),
        "The exact effect and its estimates from the sampled records.",
    ),
    "text_confounding": (
        forest("effect", parts=("system",), label="effect of the treatment"),
        "The exact effect, and the mean and the middle 95% of the estimates over the draws, by adjustment.",
    ),
    "calibration": (
        forest("sensitivity", "specificity", parts=("condition", "metric"), label="share", percent=True),
        "All cases of each judge, pooled.",
    ),
    "human_agreement": (
        _people,
        "Metrics against people's factual recall, all summaries of each set, with intervals over dialogues.",
    ),
    "history_summaries": (
        against_truth,
        "Means over patients by system: damaged summaries, whose truth is known by construction, and written ones at "
        "each limit, by judged true recall. What counts errors, or weighs what is left out, should fall as the truth "
        "rises, the others rise.",
    ),
}
"""Figure function and caption of metric tables, by file stem: at most one in a section of the report."""


def figure_of(stem: str, table: pd.DataFrame) -> tuple[str, str] | None:
    """SVG and caption of the figure of a table, if it has one."""
    draw, caption = FIGURES.get(stem, (lambda _: None, ""))
    figure = draw(table)
    return None if figure is None else (svg(figure), caption)
