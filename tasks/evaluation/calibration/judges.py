"""Judges of entailment compared on the same claims: which errors each finds, and its calls, tokens and dollars.

An error is a claim that is not entailed, and finding it is to judge it so. Precision assumes as many true claims as
false ones, see `tasks.evaluation.annotator.consistency_checks`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from schemas.params.llm import Price
from tasks.evaluation.annotator.consistency_checks import verdict_rows
from tasks.evaluation.calibration.judge_rates import STAGE
from tasks.llm.calls import Answer, Ask, Call
from tasks.llm.estimates import tokens
from tasks.llm.prices import Usage, cost
from tasks.statistics.metric_rows import metric_row, metric_table

PLANTED_CLAIMS = "planted claims"
USAGE_COLUMNS = ("judge", "claims", "calls", "prompt_tokens", "completion_tokens")


class CountedAsk:
    """An `Ask` that counts the calls that pass through it, and estimates their tokens from the lengths of the texts."""

    def __init__(self, ask: Ask) -> None:
        self._ask, self.label = ask, ask.label
        self.calls, self.prompt_tokens, self.completion_tokens = 0, 0, 0

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls by the wrapped client."""
        answers = await self._ask(calls)
        self.calls += len(calls)
        self.prompt_tokens += sum(tokens(message.content) for call in calls for message in call.messages)
        self.completion_tokens += sum(tokens(answer.text or answer.raw or "") for answer in answers)
        return answers


@dataclass(frozen=True)
class Use:
    """Claims that a judge was given, and the calls and tokens that it took. A judge without calls costs nothing."""

    claims: int
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def usage_row(judge: str, claims: int, counted: CountedAsk | None = None) -> dict[str, object]:
    """One judge's use in one chunk, with the columns USAGE_COLUMNS."""
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
            }
        )
        tables.append(verdict_rows(claims, stage=STAGE, system=str(judge), seed=seed, provenance=str(judge)))
    totals = usage.groupby("judge", sort=True)[list(USAGE_COLUMNS[1:])].sum()
    for judge, spent in totals.iterrows():
        use = Use(**{str(name): int(value) for name, value in spent.items()})
        tables.append(_use_rows(str(judge), use, prices.get(str(judge)), seed))
    return pd.concat(tables, ignore_index=True)


def _use_rows(judge: str, use: Use, price: Price | None, seed: int) -> pd.DataFrame:
    spent, scale = Usage(use.prompt_tokens, use.completion_tokens, estimated=True), 1000 / max(use.claims, 1)
    dollars = 0.0 if not use.calls else float("nan") if price is None else cost(price, spent)
    found = {"calls": use.calls, "tokens": spent.tokens, "dollars": dollars}
    rows = [metric_row(f"{name}_per_1000_claims", value * scale, n=use.claims) for name, value in found.items()]
    return metric_table(
        rows, stage=STAGE, system=judge, condition=PLANTED_CLAIMS, item="all", seed=seed, provenance=judge
    )


def judges_text(tables: Mapping[str, pd.DataFrame]) -> str:
    """The judges of several lineages (name -> judges.csv) for the terminal: one line a judge, then errors by kind."""
    tables = {
        name: table[~((table["metric"] == "labelled_items") & (table["value"] == 0))] for name, table in tables.items()
    }
    shown = pd.concat([table.assign(lineage=name) for name, table in tables.items()], ignore_index=True)
    if len(tables) > 1:
        shown["system"] = shown["lineage"] + ": " + shown["system"]
    overall = shown[shown["item"].isin(("all", "none"))]
    wide = overall.pivot_table(index=["condition", "system"], columns="metric", values="value", aggfunc="first")
    columns = [name for name in _COLUMNS if name in wide]
    kinds = shown[~shown["item"].isin(("all", "none")) & (shown["metric"] == "recall")]
    by_kind = kinds.pivot_table(index="item", columns="system", values="value", aggfunc="first")
    return "\n\n".join(
        (
            wide[columns].rename(columns=_COLUMNS).to_string(float_format="%.3f", na_rep="-"),
            "share of errors found, by kind",
            by_kind.to_string(float_format="%.3f", na_rep="-"),
        )
    )


_COLUMNS = {
    "precision": "precision",
    "recall": "recall",
    "specificity": "specificity",
    "calls_per_1000_claims": "calls/1000",
    "tokens_per_1000_claims": "tokens/1000",
    "dollars_per_1000_claims": "$/1000",
    "labelled_items": "labels",
    "labelled_share": "true, labelled",
    "powered_share": "true, powered",
    "corrected_share": "true, corrected",
    "effective_labels": "labels, effective",
}
