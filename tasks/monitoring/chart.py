"""The page of a monitored judge: its rates by round, and the process that raises the alarm."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tasks.monitoring.e_process import LAST, Watched, watch_rate
from tasks.reporting.display import percent, read_template, render
from tasks.reporting.figures import svg

NAMES = {True: "sensitivity", False: "specificity"}
Stream = tuple[str, bool]


def watched(rounds: pd.DataFrame, *, reference: int, level: float) -> dict[Stream, Watched]:
    """Each stream of ROUNDS by task and truth; ``reference``: how many rounds are it. They share the ``level``."""
    streams = list(rounds.groupby(["task", "truth"], sort=True))
    found = {}
    for (task, truth), rows in streams:
        ordered = rows.sort_values("round")
        first, later = ordered[ordered["round"] <= reference], ordered[ordered["round"] > reference]
        pairs = list(zip(later["right"].tolist(), later["n"].tolist(), strict=True))
        sums = (int(first["right"].sum()), int(first["n"].sum()))
        found[str(task), bool(truth)] = watch_rate(sums, pairs, level=level / len(streams))
    return found


def lines(streams: Mapping[Stream, Watched], rounds: pd.DataFrame, *, reference: int) -> list[str]:
    """What the terminal and the page say of each stream."""
    said = []
    for (task, truth), one in streams.items():
        own = rounds[(rounds["task"] == task) & (rounds["truth"] == truth) & (rounds["round"] > reference)]
        last = own.sort_values("round").tail(LAST)
        text = f"{task}, {NAMES[truth]}: {percent(one.rate)} in the reference (n {one.n})"
        if last["n"].sum():
            share, n = last["right"].sum() / last["n"].sum(), last["n"].sum()
            text += f", {percent(share)} in the last {len(last)} rounds (n {n})"
        if one.alarm is not None:
            text += f"; ALARM since round {reference + one.alarm + 1}: worse than {percent(one.limit)}"
        said.append(text)
    return said


def page(streams: Mapping[Stream, Watched], rounds: pd.DataFrame, *, judge: str, reference: int, level: float) -> str:
    """One self-contained HTML page; every text is escaped."""
    return render(
        "monitor.html",
        package="tasks.monitoring",
        style=read_template("report.css") + read_template("comparison.css"),
        judge=judge,
        lines=lines(streams, rounds, reference=reference),
        alarm=any(one.alarm is not None for one in streams.values()),
        figure=svg(_figure(streams, rounds, reference)),
        rounds=int(rounds["round"].max()) if len(rounds) else 0,
        reference=reference,
        level=level,
    )


def _figure(streams: Mapping[Stream, Watched], rounds: pd.DataFrame, reference: int) -> Figure:
    figure = Figure(figsize=(9.5, 2.6 * max(len(streams), 1)))
    panels = figure.subplots(max(len(streams), 1), 2, squeeze=False)
    for (rate, process), ((task, truth), one) in zip(panels, streams.items(), strict=False):
        own = rounds[(rounds["task"] == task) & (rounds["truth"] == truth)].sort_values("round")
        rate.plot(own["round"], own["right"] / own["n"].clip(lower=1), ".", markersize=4, color="#0b6b74")
        rate.axvspan(0.5, reference + 0.5, color="#d9ecee", zorder=0)
        rate.axhline(one.rate, color="#566473", linewidth=0.8)
        rate.axhline(one.limit, color="#b3261e", linewidth=0.8, linestyle="--")
        rate.set(title=f"{task}, {NAMES[truth]}: share right by round", xlabel="round", ylim=(None, 1.005))
        at = reference + 1 + np.arange(len(one.log_e))
        process.plot(at, one.log_e, color="#0b6b74")
        process.axhline(one.threshold, color="#b3261e", linewidth=0.8, linestyle="--")
        process.set(title="evidence of a fall, log e", xlabel="round")
    figure.tight_layout()
    return figure
