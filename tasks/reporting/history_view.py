"""Patients over time for the report: visits beside a summary, facts by what became of them, statements by verdict."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

FATES = {1.0: "kept", 0.5: "part", 0.0: "lost"}
"""What became of a fact of the record, by the judged degree; null where the judgement failed."""
VERDICTS = {"supported": "right", "contradicted": "wrong", "absent": "unfounded"}
"""What a statement of a summary is, by its verdict against the record."""


def history_view(
    notes: pd.DataFrame,
    facts: pd.DataFrame,
    summaries: pd.DataFrame,
    stated: pd.DataFrame,
    checked: pd.DataFrame,
    *,
    patients: int,
) -> list[dict[str, Any]]:
    """The ``patients`` judged patients with the most facts lost: visits, and summaries with facts and statements.

    ``notes``: VISIT_NOTES. ``stated`` (CLAIMS): whether summaries state each fact. ``checked`` (GROUNDED): their
    statements. Summaries are those of the tables' systems that ``summaries`` has.
    """  # fmt: skip
    recall = stated[stated["metric"] == "claim_recall"]
    order = recall[recall["judged"] == False].groupby("document").size()  # noqa: E712
    order = order.sort_values(ascending=False, kind="stable")  # ties in the same order on every machine
    shown = []
    for document in [*order.index, *sorted(set(recall["document"]) - set(order.index))][:patients]:
        patient = int(document)
        own = notes[notes["patient"] == patient].sort_values("visit")
        claims = facts[facts["patient"] == patient]["claim"].tolist()
        texts = summaries[summaries["patient"] == patient].sort_values(["system", "purpose", "words"])
        shown.append(
            {
                "patient": patient,
                "visits": [_visit(text) for text in own["text"]],
                "summaries": [_summary(row, document, claims, recall, checked) for row in texts.to_dict("records")],
            }
        )
    return shown


def _visit(text: str) -> dict[str, str]:
    title, _, body = text.partition("\n\n")
    return {"title": title, "text": body.replace("**", "")}


def _summary(
    row: dict[Any, Any], document: str, claims: Sequence[str], recall: pd.DataFrame, checked: pd.DataFrame
) -> dict[str, Any]:
    name = f"{row['system']}, {row['purpose']}, {row['words']} words"
    degrees = recall[(recall["document"] == document) & (recall["system"] == name)].set_index("position")["degree"]
    fates = [FATES.get(degrees.get(at, float("nan")), "unscored") for at in range(len(claims))]
    said = checked[(checked["document"] == document) & (checked["system"] == name)].sort_values("position")
    verdicts = [
        (text, VERDICTS.get(str(verdict), "unscored"))
        for text, verdict in zip(said["text"], said["verdict"], strict=True)
        if text
    ]
    return {
        "name": name,
        "length": row["length"],
        "text": row["text"],
        "facts": list(zip(claims, fates, strict=True)),
        "statements": verdicts,
        "counts": {fate: fates.count(fate) for fate in (*FATES.values(), "unscored") if fate in fates},
        "wrong": sum(kind == "wrong" for _, kind in verdicts),
    }


def untrusted_metrics(table: pd.DataFrame) -> list[str]:
    """Metrics of the table that do not follow the truth of damaged summaries, each with the damage."""
    failing = table[(table["metric"] == "follows_truth") & (table["value"] == 0)]
    return [f"{row.item.replace('_', ' ')} (facts {row.condition})" for row in failing.itertuples()]
