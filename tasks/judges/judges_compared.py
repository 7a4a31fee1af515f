"""Judges compared on planted claims, with their cost.

An error is a claim that is not entailed, and finding it is to judge it so.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.llm import Price
from tasks.judges.rates import record_of, verdict_rows
from tasks.llm.costs import CountedAsk, Usage, cost
from tasks.statistics.metric_rows import NAN, metric_row, metric_table

PLANTED_CLAIMS = "planted claims"
USAGE_COLUMNS = ("judge", "claims", "calls", "prompt_tokens", "completion_tokens")


def usage_row(judge: str, claims: int, counted: CountedAsk | None = None) -> dict[str, object]:
    """One judge's use in one chunk, with the columns USAGE_COLUMNS. A judge without calls costs nothing."""
    spent = (0, 0, 0) if counted is None else (counted.calls, counted.prompt_tokens, counted.completion_tokens)
    return dict(zip(USAGE_COLUMNS, (judge, claims, *spent), strict=True))


def judge_rows(
    cases: pd.DataFrame, usage: pd.DataFrame, prices: Mapping[str, Price | None], *, seed: int
) -> pd.DataFrame:
    """METRICS of each judge on planted claims: errors found by kind, and use per 1,000 claims.

    ``cases`` are PLANTED rows of step entailment; ``provenance`` names the judge. ``usage`` has USAGE_COLUMNS, a row
    for each judge and chunk. ``prices`` by judge: None leaves the dollars undefined.
    """
    tables = []
    for judge, part in cases.groupby("provenance", sort=True):
        claims = pd.DataFrame(
            {
                "check": PLANTED_CLAIMS,
                "kind": part["kind"].where(~part["truth"], "none"),
                "flagged": ~part["judged"].astype("boolean"),
                "cluster": record_of(part["document"]),
            }
        )
        tables.append(verdict_rows(claims, stage="calibrate", system=str(judge), seed=seed, provenance=str(judge)))
    totals = usage.groupby("judge", sort=True)[list(USAGE_COLUMNS[1:])].sum()
    for judge, (claims, calls, prompt, completion) in zip(totals.index, totals.to_numpy().tolist(), strict=True):
        spent, price = Usage(prompt, completion, estimated=True), prices.get(judge)
        dollars = 0.0 if not calls else NAN if price is None else cost(price, spent)
        used = {"calls": calls, "tokens": spent.tokens, "dollars": dollars}
        scale = 1000 / max(claims, 1)
        rows = [metric_row(f"{name}_per_1000_claims", value * scale, n=claims) for name, value in used.items()]
        about = {"stage": "calibrate", "system": judge, "seed": seed, "provenance": judge}
        tables.append(metric_table(rows, condition=PLANTED_CLAIMS, item="all", **about))
    return pd.concat(tables, ignore_index=True)


def judges_text(tables: Mapping[str, pd.DataFrame]) -> str:
    """The judges of several lineages (name -> judges.csv) for the terminal, a column a judge.

    A part for each condition, such as planted claims, then the errors found by kind. Each cell has the value, its 95%
    interval if there is one, and n.
    """
    shown = pd.concat([table.assign(lineage=name) for name, table in tables.items()], ignore_index=True)
    shown = shown[~((shown["metric"] == "labelled_items") & (shown["value"] == 0))]
    if len(tables) > 1:
        shown["system"] = shown["lineage"] + ": " + shown["system"]
    shown = shown.assign(cell=[_cell(row) for row in shown.itertuples()])
    overall = shown[shown["item"].eq("all") & shown["metric"].isin(_TITLES)]
    overall = overall.assign(title=pd.Categorical(overall["metric"].map(_TITLES), list(_TITLES.values())))
    parts = [_beside(str(name), part, "title") for name, part in overall.groupby("condition", sort=True)]
    kinds = shown[shown["item"].ne("all") & shown["metric"].eq("sensitivity")]
    return "\n\n".join([*parts, *([_beside("share of errors found, by kind", kinds, "item")] if len(kinds) else [])])


def _beside(title: str, rows: pd.DataFrame, label: str) -> str:
    wide = rows.pivot_table(index=label, columns="system", values="cell", aggfunc="first", observed=True)
    wide.index.name = wide.columns.name = None
    return f"{title}\n{wide.to_string(na_rep='-')}"


def _cell(row: Any) -> str:
    if not np.isfinite(row.value):
        return "-"
    value = f"{row.value:.0f}" if row.metric.startswith(_WHOLE) else f"{row.value:.3f}"
    interval = f" ({row.low:.3f} to {row.high:.3f})" if np.isfinite(row.low) else ""
    return f"{value}{interval}, n {row.n}"


_WHOLE = ("calls_", "tokens_", "labelled_items")
"""Metrics that are printed without decimals."""
_TITLES = {
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "precision_at_half": "precision at half",
    "precision": "precision",
    "prevalence": "prevalence",
    "calls_per_1000_claims": "calls per 1,000 claims",
    "tokens_per_1000_claims": "tokens per 1,000 claims",
    "dollars_per_1000_claims": "dollars per 1,000 claims",
    "labelled_items": "labels",
    "labelled_share": "true, labelled",
    "powered_share": "true, powered",
    "corrected_share": "true, corrected",
    "effective_labels": "labels, effective",
}
