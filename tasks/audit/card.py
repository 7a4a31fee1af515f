"""The figures of a card, from a judge's verdicts: validity, repeatability, invariance, comparisons, requirements.

Verdicts on claims of one text are a cluster. What should not matter is tested by the difference in right answers
between a case and its variant: signs of the documents' sums are flipped, which is exact where the judge's errors are
independent of the change (Good 2005, "Permutation, Parametric and Bootstrap Tests", 3.2), and p-values are adjusted for
all factors (Holm 1979). A loss is tested on one side. The place of a claim in its call is tested on both, by the yes
answers to claims that stand earlier in one order than in its reverse.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.audit.cases import AGAIN, REVERSED
from tasks.statistics.agreement import kappa_interval
from tasks.statistics.intervals import Interval, difference_interval, statistic_interval
from tasks.statistics.metric_rows import Row, bounds_rows, detection_rows, mean_row, metric_row, metric_table

STAGE = "audit"
LEVEL, DRAWS = 0.05, 9999
UNSTEADY = 0.02
"""Share of answers that change when asked again, which a judge is told of where the interval lies above it."""
EARLIER = "earlier in the call"
ALL = "all"
PANEL = "majority of the judges"


def card_table(verdicts: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """METRICS of VERDICTS. Condition: task, and for a variant the factor; item: kind or "all"."""
    rows: list[Row] = []
    for judge, own in verdicts.groupby("judge", sort=True):
        shared: dict[str, Any] = {"system": judge, "provenance": f"judge: {judge}"}
        cases = own[own["factor"] == ""]
        for task, group in cases.groupby("task", sort=True):
            rows += _validity(group, seed=seed, condition=str(task), **shared)
        rows += repeatability_rows(own, seed=seed, **shared)
        rows += invariance_rows(own, seed=seed, **shared)
    rows += agreement_rows(verdicts, seed=seed)
    return metric_table(rows, stage=STAGE, seed=seed)


def _validity(cases: pd.DataFrame, *, seed: int, **shared: Any) -> list[Row]:
    """Sensitivity, specificity, balanced accuracy, Cohen's kappa and Gwet's AC1, and the share right of each kind."""
    found = detection_rows(cases["truth"], cases["judged"], cases["document"], seed=seed, item=ALL, **shared)
    rates, bounds = found[:2], [row for row in found[3:] if not row["metric"].startswith("precision")]
    scored = cases.dropna(subset="judged")
    about: Row = {"item": ALL, "unscored": len(cases) - len(scored), **shared}
    truth, judged = scored["truth"].to_numpy(bool), scored["judged"].to_numpy(bool)
    values = [row["value"] for row in rates]
    rows = [
        *rates,
        *bounds,
        metric_row("balanced_accuracy", float(np.mean(values)), *_balanced(rates), n=len(scored), **about),
    ]
    kappa = kappa_interval(truth, judged, clusters=scored["document"].to_numpy())
    rows.append(metric_row("kappa", *kappa, n=len(scored), **about))
    ac1 = ac1_interval(truth, judged, scored["document"].to_numpy())
    rows.append(metric_row("ac1", *ac1, n=len(scored), **about))
    for kind, group in cases.groupby("kind", sort=True):
        right = group["judged"].astype("boolean").eq(group["truth"]).dropna()
        keys: Row = {"item": kind, "unscored": len(group) - len(right), **shared}
        row = mean_row("judged_rightly", right, clusters=group.loc[right.index, "document"], **keys)
        rows += [row, *bounds_rows(row)]
    return rows


def _balanced(rates: Sequence[Row]) -> tuple[float, float]:
    """Ends of the mean of two independent shares, from the distances of their own ends (Zou and Donner 2008)."""
    low = [row["value"] - row["low"] for row in rates]
    high = [row["high"] - row["value"] for row in rates]
    value = np.mean([row["value"] for row in rates])
    return float(value - np.hypot(*low) / 2), float(value + np.hypot(*high) / 2)


def ac1_interval(truth: npt.NDArray[np.bool_], judged: npt.NDArray[np.bool_], clusters: npt.NDArray[Any]) -> Interval:
    """Gwet's AC1 of verdicts (n,) with its jackknife interval over ``clusters`` (n,)."""
    return statistic_interval(lambda at: _ac1(truth[at], judged[at]), len(truth), bounds=(-1.0, 1.0), clusters=clusters)


def _ac1(truth: npt.NDArray[np.bool_], judged: npt.NDArray[np.bool_]) -> float:
    """Gwet's AC1 (2008, "Computing inter-rater reliability and its variance", Equation 5) for two answers."""
    agreed, yes = float((truth == judged).mean()), float(truth.mean() + judged.mean()) / 2
    chance = 2 * yes * (1 - yes)
    return (agreed - chance) / (1 - chance)


def repeatability_rows(own: pd.DataFrame, **shared: Any) -> list[Row]:
    """Share of pairs of takes of the same call whose answers differ; none without further takes."""
    again = own[own["factor"].str.startswith(AGAIN)]
    rows = []
    for task, group in again.groupby("task", sort=True):
        takes = pd.concat([own[(own["factor"] == "") & own["case"].isin(group["case"])], group])
        wide = takes.pivot(index="case", columns="factor", values="judged")
        scored = wide.dropna().astype(float)
        document = takes.drop_duplicates("case").set_index("case")["document"].reindex(scored.index)
        yes, k = scored.sum(axis=1).to_numpy(), scored.shape[1]
        differ = 2 * yes * (k - yes) / (k * (k - 1))
        keys: Row = {"condition": f"{task}, {k} takes", "item": ALL, "unscored": len(wide) - len(scored)}
        row = mean_row("changed_when_asked_again", differ, clusters=document.to_numpy(), **keys, **shared)
        rows += [row, *bounds_rows(row)]
    return rows


def invariance_rows(own: pd.DataFrame, *, seed: int, **shared: Any) -> list[Row]:
    """For each factor: share of verdicts that change, loss of right answers with its interval, and adjusted p.

    Item "all"; ``n`` counts the cases that were judged both ways, ``unscored`` the others. For the place in the call,
    the rows have the gain of yes answers of claims that stand earlier, in place of the loss.
    """
    base = own[own["factor"] == ""].set_index("case")
    varied = own[(own["factor"] != "") & ~own["factor"].str.startswith(AGAIN)]
    found: list[tuple[Row, str, npt.NDArray[np.float64], pd.DataFrame]] = []
    for factor, variant in varied.groupby("factor", sort=True):
        both = variant.set_index("case").join(base[["judged", "place"]], rsuffix="_before")
        scored = both.dropna(subset=["judged", "judged_before"])
        about = f"{variant['task'].iloc[0]}: "
        keys: Row = {"item": ALL, "unscored": len(both) - len(scored), **shared}
        loss = _right(scored, "judged_before") - _right(scored, "judged")
        found.append(({**keys, "condition": f"{about}{factor}"}, "loss_of_accuracy", loss, scored))
        if factor == REVERSED and (moved := scored[scored["place"] != scored["place_before"]]).size:
            gain = moved["judged"].astype(float) - moved["judged_before"].astype(float)
            gain = gain * np.sign(moved["place_before"].astype(float) - moved["place"])
            found.append(({**keys, "condition": f"{about}{EARLIER}"}, "gain_of_yes", gain.to_numpy(), moved))
    p = holm(
        [
            flip_p(change, scored["document"].to_numpy(), seed=seed, one_sided=metric == "loss_of_accuracy")
            for _, metric, change, scored in found
        ]
    )
    rows = []
    for (keys, metric, change, scored), adjusted in zip(found, p, strict=True):
        clusters = scored["document"].to_numpy()
        flipped = (scored["judged"] != scored["judged_before"]).to_numpy(dtype=float)
        row = mean_row("flipped", flipped, clusters=clusters, **keys)
        rows += [row, *bounds_rows(row)]
        interval = difference_interval(change, clusters=clusters)
        rows.append(metric_row(metric, *interval, n=len(scored), **keys))
        rows.append(metric_row("p_value_adjusted", float(adjusted), n=len(scored), **keys))
    return rows


def _right(scored: pd.DataFrame, column: str) -> npt.NDArray[np.float64]:
    return (scored[column].astype(bool) == scored["truth"]).to_numpy(dtype=float)


def flip_p(
    differences: npt.NDArray[np.float64], clusters: npt.NDArray[Any], *, seed: int, one_sided: bool = False
) -> float:
    """P of a sum of differences (n,) whose sign is arbitrary in each cluster; 1 without a difference.

    ``one_sided``: only sums above 0 speak against that.
    """
    _, of = np.unique(clusters, return_inverse=True)
    sums = np.bincount(of, weights=differences)
    sums = sums[sums != 0]
    if not len(sums):
        return 1.0
    signs = np.random.default_rng([seed, len(sums)]).integers(0, 2, size=(DRAWS, len(sums))) * 2 - 1
    drawn, found = signs @ sums, sums.sum()
    beyond = drawn >= found - 1e-9 if one_sided else np.abs(drawn) >= abs(found) - 1e-9
    return float((1 + beyond.sum()) / (1 + DRAWS))


def holm(p: Sequence[float]) -> npt.NDArray[np.float64]:
    """P-values adjusted for their number by Holm's step-down (1979)."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(np.minimum(values[order] * np.arange(len(values), 0, -1), 1.0))
    adjusted = np.empty_like(steps)
    adjusted[order] = steps
    return adjusted


def agreement_rows(verdicts: pd.DataFrame, *, seed: int) -> list[Row]:
    """Pairs of judges on the cases that both judged, and the majority of three or more against its best member."""
    cases = verdicts[verdicts["factor"] == ""]
    wide = cases.pivot(index="case", columns="judge", values="judged")
    judges, about = list(wide.columns), cases.drop_duplicates("case").set_index("case")[["truth", "document"]]
    pairs = list(combinations(judges, 2))
    if len(judges) > 2:
        votes = wide.dropna().astype(float).mean(axis=1)
        wide[PANEL] = (votes > 0.5).where(votes != 0.5).astype("boolean").reindex(wide.index)
        best = max(judges, key=lambda name: float((wide[name] == about["truth"].reindex(wide.index)).mean()))
        pairs.append((PANEL, best))
    found = []
    for first, second in pairs:
        both = wide[[first, second]].join(about).dropna()
        right = [(both[name].astype(bool) == both["truth"]).to_numpy(dtype=float) for name in (first, second)]
        found.append((first, second, both, right[0] - right[1], len(wide) - len(both)))
    p = holm([flip_p(one[3], one[2]["document"].to_numpy(), seed=seed) for one in found])
    rows = []
    for (first, second, both, difference, unscored), adjusted in zip(found, p, strict=True):
        clusters = both["document"].to_numpy()
        keys: Row = {"system": first, "condition": f"against {second}", "item": ALL, "unscored": unscored}
        keys["provenance"] = f"judges: {first}, {second}"
        kappa = kappa_interval(both[first].to_numpy(bool), both[second].to_numpy(bool), clusters=clusters)
        rows.append(metric_row("kappa", *kappa, n=len(both), **keys))
        interval = difference_interval(difference, clusters=clusters)
        rows.append(metric_row("accuracy_difference", *interval, n=len(both), **keys))
        rows.append(metric_row("p_value_adjusted", float(adjusted), n=len(both), **keys))
    return rows


def against(now: pd.DataFrame, before: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """One judge's VERDICTS now and before on the same cases: a row by task with the change in right answers.

    Columns task, n, before, now, low, high, p (Holm over tasks), changed. Raises ValueError without a common case.
    """
    keys = ["case", "factor", "task", "document", "text", "truth"]
    both = now.merge(before[[*keys, "judged"]], on=keys, suffixes=("", "_before")).dropna(
        subset=["judged", "judged_before"]
    )
    if both.empty:
        raise ValueError("the cards have no case in common; make both with the same --seed, --cases and --texts")
    rows = []
    for task, group in both.groupby("task", sort=True):
        after, first = _right(group, "judged"), _right(group, "judged_before")
        interval = difference_interval(after - first, clusters=group["document"].to_numpy())
        p = flip_p(after - first, group["document"].to_numpy(), seed=seed)
        rows.append({"task": task, "n": len(group), "before": first.mean(), "now": after.mean(), "low": interval[1],
                     "high": interval[2], "p": p})  # fmt: skip
    table = pd.DataFrame(rows)
    table["p"] = holm(table["p"].tolist())
    return table.assign(changed=table["p"] < LEVEL)


def findings(card: pd.DataFrame) -> list[str]:
    """One sentence for each weakness of a judge beyond chance: factors by their loss, the place in a call, takes."""
    rows = card[card["condition"].str.contains(": ")]
    wide = rows.pivot(index=["system", "condition"], columns="metric", values="value").reset_index()
    wide = wide.reindex(
        columns=["system", "condition", "flipped", "loss_of_accuracy", "gain_of_yes", "p_value_adjusted"]
    )
    sure = wide[wide["p_value_adjusted"] < LEVEL]
    lost = sure[sure["loss_of_accuracy"] > 0].sort_values("loss_of_accuracy", ascending=False)
    lines = [
        f"{row['system']}: {row['condition'].partition(': ')[2]} costs {100 * row['loss_of_accuracy']:.1f} points of "
        f"right answers and changes {100 * row['flipped']:.1f}% of verdicts"
        for row in lost.to_dict("records")
    ]
    for row in sure[sure["gain_of_yes"].notna()].to_dict("records"):
        more = "more" if row["gain_of_yes"] > 0 else "less"
        points = f"{100 * abs(row['gain_of_yes']):.1f} points"
        lines.append(f"{row['system']}: a claim that stands earlier in its call is accepted {more} often, by {points}")
    again = card[(card["metric"] == "changed_when_asked_again") & (card["low"] > UNSTEADY)]
    for row in again.to_dict("records"):
        lines.append(f"{row['system']}: {100 * row['value']:.1f}% of answers change when the same is asked again")
    return lines


def failed_requirements(card: pd.DataFrame, required: Mapping[str, float]) -> list[str]:
    """Requirements that a judge misses: least values of validity metrics, and the most that a factor may cost.

    A metric is met by the value of every task; a factor, named by a part of its name, by its loss of accuracy.
    """
    missed = []
    for name, limit in required.items():
        of_metric = card[
            (card["metric"] == name) & (card["item"] == ALL) & ~card["condition"].str.contains(": |^against ")
        ]
        of_factor = card[(card["metric"] == "loss_of_accuracy") & card["condition"].str.contains(name, regex=False)]
        if of_metric.empty and of_factor.empty:
            raise ValueError(
                f"--require {name}: no such metric or factor; expected sensitivity, specificity, balanced_accuracy, "
                "kappa, ac1, or a part of a factor's name such as instruction"
            )
        for row in of_metric[~(of_metric["value"] >= limit)].to_dict("records"):
            missed.append(
                f"{row['system']}, {row['condition']}: {name} {row['value']:.3f}, required at least {limit:g}"
            )
        for row in of_factor[~(of_factor["value"] <= limit)].to_dict("records"):
            missed.append(f"{row['system']}, {row['condition']}: costs {row['value']:.3f}, allowed at most {limit:g}")
    return missed
