"""Accuracy of a judge on labelled pairs of a text and a claim: entailment, neutral, contradiction (DocLens, A.1).

In two classes, neutral and contradiction count alike (Tables 1 and 4): the evaluator of ``doclens`` judges. In three
(Table 5), the prompt that grounds a claim in its source does: supported, absent, contradicted.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from schemas.errors import SourceError
from schemas.params.measures import DocLens
from schemas.tables.verdicts import verdict_table
from tasks.llm.calls import Ask, unscored_row, unscored_table
from tasks.measures.doclens.evaluators import Question, condition, make_evaluator
from tasks.measures.grounding.grounding import ground
from tasks.measures.measure import Metric, Metrics
from tasks.texts.document import Tables
from tasks.texts.files import read_rows

SETS = ("anli_r1", "anli_r2", "anli_r3", "mednli")
METRICS: Metrics = {"accuracy": Metric(pooled=False, as_percent=False)}
LABELS = {"e": "supported", "n": "absent", "c": "contradicted"}
"""The verdict that is right, by the first letter of a label."""
NAMES = {
    "text": ("text", "premise", "context", "sentence1"),
    "claim": ("claim", "hypothesis", "sentence2"),
    "label": ("label", "gold_label"),
}
"""Fields of a line by what they hold, as the sets name them."""
TWO, THREE = "two classes", "three classes"


def set_file(name: str) -> str:
    """Path of a set in the sources folder: JSON Lines as released."""
    return f"entailment/{name}.jsonl"


def read_sets(folder: Path) -> pd.DataFrame:
    """Pairs of the sets at hand: document, item, text, claim, right. Raises SourceError naming a defective line."""
    rows = [
        {"document": f"{name}-{at}", "item": name, **_pair(file, at, row.values)}
        for name in SETS
        if (file := folder / set_file(name)).is_file()
        for at, row in enumerate(read_rows(file).rows, 1)
    ]
    return pd.DataFrame(rows, columns=["document", "item", "text", "claim", "right"], dtype="str")


def _pair(file: Path, at: int, values: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for field, names in NAMES.items():
        given = next((values[name] for name in names if values.get(name)), None)
        if given is None:
            raise SourceError(f"{file}, line {at}: no {field}; expected a field {' or '.join(names)}")
        found[field] = str(given).strip()
    label = found.pop("label")
    if label[:1].lower() not in LABELS:
        raise SourceError(f"{file}, line {at}: label {label!r}; expected entailment, neutral or contradiction")
    return {**found, "right": LABELS[label[:1].lower()]}


async def judge_pairs(ask: Ask, pairs: pd.DataFrame, params: DocLens) -> Tables:
    """VERDICTS whose value is whether the judge is right, and what it left open; an inference model has two classes."""
    questions = [Question(row.document, row.text, (row.claim,)) for row in pairs.itertuples()]
    evaluator = make_evaluator(params, ask)
    judge = ask.label if params.evaluator == "instruction" else evaluator.label
    found = {f"{TWO}, {condition(params)}": await evaluator(questions)}
    if params.evaluator == "instruction":
        found[THREE] = await ground(ask, questions, params.claims_a_call)
    rows, unscored = [], []
    for classes, verdicts in found.items():
        for row, one in zip(pairs.itertuples(), verdicts, strict=True):
            judged, _, word = one.units[0]
            said = word if classes == THREE or judged is None else _two(judged)
            right = row.right if classes == THREE else _two(row.right == LABELS["e"])
            about = {"document": row.document, "system": judge, "condition": classes, "item": row.item}
            value = None if said is None else float(said == right)
            rows.append(
                {**about, "metric": "accuracy", "unit": "0", "text": row.claim, "value": value, "verdict": said}
            )
            if said is None:
                unscored.append(unscored_row(row.document, classes, one.failure or "no verdict", one.raw))
    return {"verdicts": verdict_table(rows, judge=judge), "unscored": unscored_table(unscored)}


def _two(entailed: bool) -> str:
    return LABELS["e"] if entailed else "not supported"
