"""Verdicts on facts of sources and on what outputs omit of them, as MED-OMIT's judging makes them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from schemas.tables.verdicts import VERDICTS, verdict_table
from tasks.measures.med_omit.judging import DIAGNOSES, GRADED, OMITTED, UNIQUE
from tasks.texts.document import SOURCE


def facts_judged(facts: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """VERDICTS on facts, each by its fields; those that it lacks have defaults.

    document, fact, text, kind; category, weight, supports, refutes, truth, uniqueness; omitted: by system, the verdict
    True, False or None, or the extent.
    """
    rows = []
    for one in facts:
        about = {"document": one.get("document", "1"), "unit": one["fact"], "text": one.get("text", one["fact"])}
        about |= {"item": "all", "condition": "paper", "kind": one.get("kind", "medical"), "weight": one.get("weight")}
        evidence = json.dumps({name: one.get(name, []) for name in ("supports", "refutes")})
        grade = {"metric": GRADED, "value": 0.5, "verdict": one.get("category"), "truth": one.get("truth")}
        rows.append({**about, "system": SOURCE, **grade, "reason": evidence})
        if "uniqueness" in one:
            rows.append({**about, "system": SOURCE, "metric": UNIQUE, "value": one["uniqueness"]})
        for system, said in one.get("omitted", {}).items():
            value = None if said is None else float(bool(said))
            word = said if isinstance(said, str) else "whole" if said else None
            rows.append({**about, "system": system, "metric": OMITTED, "value": value, "verdict": word})
    return VERDICTS.validate(verdict_table(rows, judge="j"))


def differential(document: str, **diagnoses: str) -> pd.DataFrame:
    """VERDICTS of the diagnoses of a source, with their likelihoods."""
    about = {"document": document, "system": SOURCE, "item": "all", "condition": "paper", "metric": DIAGNOSES}
    rows = [
        {**about, "unit": str(rank), "text": name, "value": 0.5, "verdict": likelihood}
        for rank, (name, likelihood) in enumerate(diagnoses.items())
    ]
    return verdict_table(rows, judge="j")
