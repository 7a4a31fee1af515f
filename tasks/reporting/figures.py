"""Figures of the report as SVG text; element ids are fixed, so that equal tables give equal bytes."""

import io
from collections.abc import Callable

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from tasks.reporting.baseline_figures import embedding_types, evidence_settings
from tasks.reporting.style import COLOURS, SETTINGS

Draw = Callable[[pd.DataFrame], Figure | None]
"""Draws one metric table; returns None when the table lacks the rows of the figure."""


def svg(figure: Figure) -> str:
    """SVG element of the figure, without XML header."""
    with mpl.rc_context(SETTINGS):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def agreement(rows: pd.DataFrame) -> Figure | None:
    """Published against reproduced values of all judged rows, one panel per basis."""
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


def forest(
    *metrics: str, parts: tuple[str, ...] = ("system", "condition", "item"), label: str = "", percent: bool = False
) -> Draw:
    """Forest plot of ``metrics``, one row per table row with its interval, labelled by the columns ``parts``."""

    def draw(table: pd.DataFrame) -> Figure | None:
        rows = table[table["metric"].isin(metrics) & table["value"].notna()]
        if not 1 < len(rows) <= 30:
            return None
        names = [", ".join(str(getattr(row, part)).replace("_", " ") for part in parts) for row in rows.itertuples()]
        with mpl.rc_context(SETTINGS):
            figure = Figure(figsize=(7.2, 0.24 * len(rows) + 0.8))
            axes = figure.add_subplot()
            for place, row in enumerate(rows[::-1].itertuples()):
                if pd.notna(row.low):
                    axes.plot([row.low, row.high], [place, place], color=COLOURS[0], linewidth=1.6)
                axes.plot(row.value, place, "o", color=COLOURS[0], markersize=4)
            axes.set_yticks(range(len(rows)), names[::-1])
            axes.set_xlabel((label or ", ".join(metrics).replace("_", " ")) + ", 95% interval")
            if percent:
                axes.xaxis.set_major_formatter(PercentFormatter(1))
            if rows["low"].min() < 0 < rows["high"].max():
                axes.axvline(0, color="#8fa1b1", linewidth=0.8)
        return figure

    return draw


def _answers(table: pd.DataFrame) -> Figure | None:
    """Scores of the answerer over all questions, by question format and notes shown."""
    chosen = table[(table["system"] == "answerer") & (table["item"] == "all")]
    return forest("score", parts=("condition",), label="score", percent=True)(chosen)


_CLAIMS = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")

FIGURES: dict[str, tuple[tuple[Draw, str], ...]] = {
    "baselines": (
        (embedding_types, "F1 of neural-text by note embedding: history, physical examination, their mean, their "
         "concatenation, or spans only (SimSUM, Fig. 10)."),
        (evidence_settings, "F1 by evidence setting, for models with tabular features."),
    ),
    "doclens": (
        (forest(*_CLAIMS, parts=("system", "metric"), label="mean over notes", percent=True), "Means over notes."),
    ),
    "network_causal": (
        (forest("effect", parts=("system", "condition"), label="effect of the treatment on the outcome"),
         "The exact effect and its estimates from the sampled records."),
    ),
    "text_confounding": (
        (forest("effect", parts=("system",), label="effect of the treatment"),
         "The exact effect, and the mean and range of the estimates over the draws, by adjustment."),
    ),
    "calibration": (
        (forest("precision", "recall", "specificity", parts=("condition", "metric"), label="share", percent=True),
         "All cases of each judge, pooled."),
    ),
    "planted_errors": (
        (forest("recall", parts=("condition", "item"), percent=True), "Recall by kind of planted error."),
    ),
    "note_qa": (
        (_answers, "Share of questions answered correctly, by question format and notes shown to the answerer."),
    ),
}  # fmt: skip
"""Figure functions and captions of each metric table, by file stem."""


def draw_all(stem: str, table: pd.DataFrame) -> list[dict[str, str]]:
    """SVG and caption of each figure of the table."""
    drawn = [(draw(table), caption) for draw, caption in FIGURES.get(stem, ())]
    return [{"svg": svg(figure), "caption": caption} for figure, caption in drawn if figure is not None]
