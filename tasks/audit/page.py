"""The page of a card: findings, bars with intervals by task and kind, what should not matter, changed pairs, judges."""

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from math import nan
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from tasks.audit.card import METRIC_NAMES, by_rules, change_table, judged_by_models, limits, verdict_lines, weaknesses
from tasks.audit.comparisons import ALL
from tasks.audit.people import agreement_view
from tasks.audit.practice import CONDITION
from tasks.reporting.display import read_template, render
from tasks.reporting.evaluation_text import DRY_RUN
from tasks.statistics.sign_flips import LEVEL

SHOWN = 12
"""Changed pairs that are shown for each judge and factor."""
AROUND = 30
"""Words that are shown on either side of a difference."""
_TESTED = {"loss_of_accuracy": "right answers lost", "gain_of_yes": "more yes"}


def card_page(
    card: pd.DataFrame,
    verdicts: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    changes: pd.DataFrame | None,
    made_from: Mapping[str, Any],
    origin_rows: Mapping[str, str],
    cite: str,
    people: pd.DataFrame,
) -> str:
    """One self-contained HTML page without scripts; every text is escaped.

    ``cases``: CASES of the claims, whose texts are shown where verdicts changed. ``changes``: the table of
    `tasks.audit.comparisons.against`, if compared. ``made_from``: what the card was made from, by name.
    ``origin_rows``: the code that made it, by name; ``cite``: how to cite it. ``people``: METRICS of the agreement of
    judges with people and of people with each other.
    """
    judges = sorted(verdicts["judge"].unique())
    return render(
        "card.html",
        package="tasks.audit",
        style=read_template("report.css") + read_template("comparison.css"),
        judges=judges,
        rules=by_rules(judges),
        dry_run=DRY_RUN,
        verdicts=[line for line in verdict_lines(card) if line != DRY_RUN],
        findings=weaknesses(card),
        otherwise=limits(card),
        sections=[_judge(card[card["system"] == judge]) | {"judge": judge} for judge in judges],
        pairs=[row for row in card.to_dict("records") if row["condition"].startswith("against ")],
        people=agreement_view(people),
        changed=_changed(verdicts, cases),
        changes=[] if changes is None else _listed(judged_by_models(changes, "judge")).to_dict("records"),
        made_from={name: value for name, value in made_from.items() if name != "code"},
        origin_rows=origin_rows,
        cite=cite,
        level=LEVEL,
    )


def _listed(changes: pd.DataFrame) -> pd.DataFrame:
    """The comparison of the rates, and of kinds and changes that differ or may differ."""
    return changes[changes["primary"] | changes["changed"] | changes["undecided"]]


def _judge(own: pd.DataFrame) -> dict[str, Any]:
    """Rates by task, shares right by kind, factors, and use of one judge."""
    plain = own[~own["condition"].str.contains(": |^against ")]
    texts = plain[plain["metric"].str.endswith("texts")].set_index(["condition", "item", "metric"])["value"].to_dict()
    of = [
        texts.get((task, item, f"{metric}_texts"), texts.get((task, item, "texts"), nan))
        for task, item, metric in zip(plain["condition"], plain["item"], plain["metric"], strict=True)
    ]
    plain = plain.assign(texts=of)
    of_task = plain[(plain["item"] == ALL) & plain["metric"].isin(METRIC_NAMES)]
    kinds = plain[plain["metric"] == "judged_rightly"]
    return {
        "rates": of_task.to_dict("records"),
        "kinds": kinds.sort_values(["condition", "value"]).to_dict("records"),
        "factors": [
            {**row, "factor": row["change"], "p": row["p_value_adjusted"], "what": _TESTED[row["metric"]]}
            for row in change_table(own).to_dict("records")
        ],
        "again": own[own["metric"] == "changed_when_asked_again"].to_dict("records"),
        "practice": own[own["condition"] == CONDITION].to_dict("records"),
    }


def _changed(verdicts: pd.DataFrame, cases: pd.DataFrame) -> list[dict[str, Any]]:
    """Cases that were judged rightly and whose variant was not, by judge and factor, with what differs marked."""
    asked = {(row["unit"], row["condition"]): row for row in cases.to_dict("records")}
    base = verdicts[verdicts["condition"] == ""].set_index(["judge", "unit"])["value"].rename("before")
    both = verdicts[verdicts["condition"] != ""].join(base, on=["judge", "unit"]).dropna(subset=["value", "before"])
    worse = both[(both["before"] == both["truth"]) & (both["value"] != both["truth"])]
    found = []
    for (judge, factor), rows in worse.groupby(["judge", "condition"], sort=True):
        shown = []
        for row in rows.head(SHOWN).to_dict("records"):
            before, now = asked.get((row["unit"], "")), asked.get((row["unit"], row["condition"]))
            texts = [f"{one['text']}\n\n{one['premise']}" if one else "" for one in (before, now or before)]
            shown.append({**row, "texts": marked(*texts)})
        found.append({"judge": judge, "factor": factor, "count": len(rows), "rows": shown})
    return found


def marked(first: str, second: str) -> tuple[Markup, Markup]:
    """Both texts as HTML, with the words that differ marked and long stretches without a difference cut out."""
    words: list[list[str]] = [re.findall(r"\S+|\s+", text) for text in (first, second)]
    sides: list[list[Markup]] = [[], []]
    for same, *places in SequenceMatcher(None, words[0], words[1], autojunk=False).get_opcodes():
        for side, text, start, end in zip(sides, words, places[::2], places[1::2], strict=True):
            side.append(_cut(text[start:end], mark=same != "equal"))
    return Markup("").join(sides[0]), Markup("").join(sides[1])


def _cut(words: list[str], *, mark: bool) -> Markup:
    """The words, escaped; of a long stretch its beginning and its end."""
    cut = len(words) > 4 * AROUND
    parts = ["".join(words[: 2 * AROUND]), "".join(words[-2 * AROUND :])] if cut else ["".join(words)]
    shown = Markup(" […] ").join(escape(part) for part in parts)
    return Markup("<mark>{}</mark>").format(shown) if mark and words else shown
