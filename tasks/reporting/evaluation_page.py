"""Renders the page of an evaluation: one HTML file without external resources."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from tasks.reporting.evaluation_text import MAIN, SHARES, main_table, shown
from tasks.reporting.evaluation_view import ShownDocument, document_data
from tasks.reporting.numbers import number
from tasks.reporting.page import read_template, script_digest, script_json
from tasks.reporting.tables_view import metric_view

MEANINGS = {
    "claim_recall": "share of the reference's claims that the output states",
    "claim_precision": "share of the output's claims that the reference states",
    "citation_recall": "share of the output's statements that their citations support",
    "citation_precision": "share of citations that are needed for their statement",
    "omission_share": "share of the source's facts that the output leaves out; lower is better",
    "omission_weight": "sum of the weights of the facts left out; lower is better",
    "qa_free_text": "share of questions about the source that are answered rightly from the output, in own words",
    "qa_multiple_choice": "the same with five choices",
    "rouge1_f": "overlap of words with the reference (F1)",
    "rouge2_f": "overlap of word pairs with the reference (F1)",
    "rougeLsum_f": "longest common subsequence with the reference (F1)",
    "bertscore_f1": "similarity of word vectors with the reference (F1)",
}


JUDGE_SHARES = frozenset(["precision", "recall", "specificity", "judged_rightly"])


def render_evaluation(
    title: str,
    documents: Sequence[ShownDocument],
    citing: Collection[str],
    tables: Mapping[str, pd.DataFrame],
    *,
    systems: Sequence[str],
    models: Mapping[str, str],
    fewest: int,
) -> str:
    """The page, with all texts escaped.

    ``tables``: metrics, comparisons, unscored and, if judged, claims, facts and answers.
    ``fewest``: differences on fewer documents are not tested.
    """
    environment = Environment(
        loader=PackageLoader("tasks.reporting"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    script = read_template("tables.js") + read_template("evaluation.js")
    names, rows = main_table(tables["metrics"], systems)
    return environment.get_template("evaluation.html").render(
        css=read_template("report.css") + read_template("evaluation.css"),
        js=script,
        script_digest=script_digest(script),
        data=script_json({"systems": list(systems), "documents": _documents(documents, systems, citing, tables)}),
        title=title,
        systems=systems,
        size=len(documents),
        metrics=[{"name": name, "label": MAIN[name], "meaning": MEANINGS[name]} for name in names],
        rows=[(system, [_cell(row) for row in cells]) for system, cells in rows],
        comparisons=tables["comparisons"].to_dict("records"),
        moved=int(tables["comparisons"]["changed"].sum()),
        fewest=fewest,
        untested=bool((tables["comparisons"]["n"] < fewest).any()),
        all_metrics=metric_view(tables["metrics"], MEANINGS, SHARES),
        judge_view=metric_view(tables["judge"], {}, JUDGE_SHARES) if "judge" in tables else None,
        unscored=tables["unscored"].to_dict("records"),
        models=models,
        rules=[role for role, label in models.items() if "embedded rules" in label],
        number=number,
    )


def _documents(
    documents: Sequence[ShownDocument],
    systems: Sequence[str],
    citing: Collection[str],
    tables: Mapping[str, pd.DataFrame],
) -> list[dict[str, Any]]:
    columns = {
        "claims": ["system", "metric", "text", "judged", "item", "reason"],
        "facts": ["fact", "system"],
        "answers": ["question", "system"],
    }
    empty = {name: pd.DataFrame(columns=listed) for name, listed in columns.items()}
    grouped = {
        name: dict(iter(tables[name].groupby("document", sort=False))) if name in tables else {} for name in columns
    }
    return [
        document_data(document, systems, citing, *(grouped[name].get(document.id, empty[name]) for name in columns))
        for document in documents
    ]


def _cell(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    low, high = row["low"], row["high"]
    return {
        "value": shown(row["metric"], row["value"]),
        "sort": f"{row['value']:.6g}",
        "interval": f"{shown(row['metric'], low)} to {shown(row['metric'], high)}",
        "bar": (100 * low, max(100 * (high - low), 1)) if 0 <= low <= high <= 1 else None,
        "n": row["n"],
        "unscored": row["unscored"],
    }
