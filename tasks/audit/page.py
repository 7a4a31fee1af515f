"""The page of a card: findings, bars with intervals by task and kind, what should not matter, changed pairs, judges."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined

from tasks.audit.card import ALL, LEVEL
from tasks.reporting.display import number, percent, probability, read_template

SHOWN = 12
"""Changed pairs that are shown for each judge and factor."""
_TESTED = {"loss_of_accuracy": "right answers lost", "gain_of_yes": "more yes"}
_RATES = ("sensitivity", "specificity", "balanced_accuracy", "kappa", "ac1")


def card_page(
    card: pd.DataFrame,
    verdicts: pd.DataFrame,
    premises: dict[tuple[str, str], str],
    *,
    findings: Sequence[str],
    changes: pd.DataFrame | None,
    made_from: dict[str, Any],
) -> str:
    """One self-contained HTML page without scripts; every text is escaped.

    ``premises``: judged text by case and factor. ``changes``: the table of `tasks.audit.card.against`, if compared.
    """
    template = files("tasks.audit").joinpath("templates", "card.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": number, "percent": percent, "probability": probability}
    judges = sorted(verdicts["judge"].unique())
    return environment.from_string(template).render(
        css=read_template("report.css") + read_template("comparison.css"),
        judges=judges,
        findings=findings,
        sections=[_judge(card[card["system"] == judge]) | {"judge": judge} for judge in judges],
        pairs=[row for row in card.to_dict("records") if row["condition"].startswith("against ")],
        changed=_changed(verdicts, premises),
        changes=[] if changes is None else changes.to_dict("records"),
        made_from=made_from,
        level=LEVEL,
    )


def _judge(own: pd.DataFrame) -> dict[str, Any]:
    """Rates by task, shares right by kind, and factors of one judge."""
    plain = own[~own["condition"].str.contains(": |^against ")]
    of_task = plain[(plain["item"] == ALL) & plain["metric"].isin(_RATES)]
    kinds = plain[plain["metric"] == "judged_rightly"]
    factors = own[own["condition"].str.contains(": ")]
    wide = factors.pivot(index="condition", columns="metric", values="value") if len(factors) else pd.DataFrame()
    tested = factors[factors["metric"].isin(["loss_of_accuracy", "gain_of_yes"])].set_index("condition")
    return {
        "sentences": [_sentence(task, rows.set_index("metric")) for task, rows in of_task.groupby("condition")],
        "rates": of_task.to_dict("records"),
        "kinds": kinds.sort_values(["condition", "value"]).to_dict("records"),
        "factors": [
            {"factor": str(name).partition(": ")[2], "flipped": row["flipped"], "p": row["p_value_adjusted"],
             "what": _TESTED[tested.loc[name, "metric"]],
             **{key: tested.loc[name, key] for key in ("value", "low", "high", "n", "unscored")}}
            for name, row in wide.iterrows()
        ],
        "again": own[own["metric"] == "changed_when_asked_again"].to_dict("records"),
    }  # fmt: skip


def _sentence(task: object, rows: pd.DataFrame) -> str:
    """What a judge does on a task, in words."""
    yes, no = rows.loc["sensitivity"], rows.loc["specificity"]
    return (
        f"{task}: of cases whose answer is yes it says so of {percent(yes['value'])} ({percent(yes['low'])} to "
        f"{percent(yes['high'])}, n {int(yes['n'])}); of those whose answer is no, of {percent(no['value'])} "
        f"({percent(no['low'])} to {percent(no['high'])}, n {int(no['n'])})."
    )


def _changed(verdicts: pd.DataFrame, premises: dict[tuple[str, str], str]) -> list[dict[str, Any]]:
    """Cases that were judged rightly and whose variant was not, by judge and factor."""
    base = verdicts[verdicts["factor"] == ""].set_index(["judge", "case"])["judged"].rename("before")
    both = verdicts[verdicts["factor"] != ""].join(base, on=["judge", "case"]).dropna(subset=["judged", "before"])
    worse = both[(both["before"] == both["truth"]) & (both["judged"] != both["truth"])]
    found = []
    for (judge, factor), rows in worse.groupby(["judge", "factor"], sort=True):
        shown = [
            {**row, "premise": premises.get((row["case"], row["factor"]), ""),
             "plain": premises.get((row["case"], ""), "")}
            for row in rows.head(SHOWN).to_dict("records")
        ]  # fmt: skip
        found.append({"judge": judge, "factor": factor, "count": len(rows), "rows": shown})
    return found
