"""Judges compared on the same planted claims, with what their verdicts cost.

An error is a claim that is not entailed, and finding it is to judge it so.
"""

from collections.abc import Mapping

import pandas as pd

from schemas.params.llm import Price
from tasks.judges.rates import as_errors, rates, record_of
from tasks.llm.costs import CountedAsk, Usage, cost
from tasks.statistics.metric_rows import NAN, metric_row, metric_table

PLANTED_CLAIMS = "planted claims"
USAGE_COLUMNS = ("judge", "claims", "calls", "prompt_tokens", "completion_tokens")


def usage_row(judge: str, claims: int, counted: CountedAsk | None = None) -> dict[str, object]:
    """One judge's use in one chunk, with the columns USAGE_COLUMNS. A judge without calls costs nothing."""
    spent = (0, 0, 0) if counted is None else (counted.calls, counted.prompt_tokens, counted.completion_tokens)
    return dict(zip(USAGE_COLUMNS, (judge, claims, *spent), strict=True))


def judge_rows(
    verdicts: pd.DataFrame, usage: pd.DataFrame, prices: Mapping[str, Price | None], *, seed: int
) -> pd.DataFrame:
    """METRICS of each judge on planted claims: errors found by kind, and use per 1,000 claims.

    ``verdicts``: VERDICTS on the claims. ``usage`` has USAGE_COLUMNS, a row for each judge and chunk. ``prices`` by
    judge: None leaves the dollars undefined.
    """
    tables = []
    for judge, own in as_errors(verdicts).groupby("judge", sort=True):
        errors, name = own.assign(metric=PLANTED_CLAIMS), str(judge)
        tables.append(rates(errors, seed=seed, system=name, provenance=name, of_errors=True, clusters=record_of))
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
