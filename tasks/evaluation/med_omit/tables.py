"""MED-OMIT's cases as tables: facts with their scores, and the facts that each summary omits."""

import json
from collections.abc import Mapping, Sequence

import pandas as pd

from tasks.evaluation.med_omit.fact_score import Variant, fact_score, uniqueness
from tasks.evaluation.med_omit.steps import Case, Failure
from tasks.llm.unscored import unscored_row

FACT_COLUMNS = [
    "document",
    "fact",
    "kind",
    "text",
    "category",
    "supports",
    "refutes",
    "uniqueness",
    "score",
    "posterior_shift",
]


def fact_table(cases: Sequence[Case], *, variant: Variant) -> pd.DataFrame:
    """FACTS of all cases without a failure. A fact that the judge did not grade has neither category nor score."""
    rows = [_fact_row(case, fact, variant) for case in cases if case.failure is None for fact in case.facts]
    frame = pd.DataFrame(rows, columns=FACT_COLUMNS)
    numbers = ["uniqueness", "score", "posterior_shift"]
    texts = [name for name in FACT_COLUMNS if name not in numbers]
    return frame.astype({**dict.fromkeys(texts, "str"), **dict.fromkeys(numbers, float)})


def _fact_row(case: Case, fact: str, variant: Variant) -> tuple[object, ...]:
    kind, text = case.facts[fact]
    scores = uniqueness(fact, case.clusters, variant=variant)
    category = case.categories.get(fact)
    held = {stance: _diagnoses(case, fact, stance) for stance in ("supports", "refutes")}
    return (
        case.key,
        fact,
        kind,
        text,
        category,
        json.dumps(held["supports"]),
        json.dumps(held["refutes"]),
        max(scores) if scores else float("nan"),
        fact_score(category, scores) if category else float("nan"),
        float("nan"),
    )


def _diagnoses(case: Case, fact: str, stance: str) -> list[str]:
    return sorted({c.diagnosis for c in case.clusters if c.stance == stance and fact in c.facts})


def omitted_table(facts: pd.DataFrame, omitted: Mapping[str, Mapping[str, str | None]], system: str) -> pd.DataFrame:
    """OMITTED of one system's summaries; null for all facts of a document whose omissions could not be judged.

    ``omitted``: for each document, the omitted facts with the extent of the omission.
    """
    rows = []
    for document, fact in zip(facts["document"], facts["fact"], strict=True):
        found = omitted.get(document)
        extent = None if found is None else found.get(fact)
        rows.append((document, system, fact, None if found is None else fact in found, extent))
    frame = pd.DataFrame(rows, columns=["document", "system", "fact", "omitted", "extent"])
    texts = dict.fromkeys(["document", "system", "fact", "extent"], "str")
    return frame.astype({**texts, "omitted": "boolean"})


def unscored_rows(failures: Sequence[Failure], *, system: str = "") -> list[dict[str, str | None]]:
    """Failed steps as UNSCORED rows."""
    suffix = f" of {system}" if system else ""
    return [unscored_row(failure.key, failure.step + suffix, failure.reason, failure.raw) for failure in failures]
