"""The form in which clinicians validate omissions (MED-OMIT, Section 4 and Appendix B), and reading it back.

It shows all omitted facts of each document, and further facts drawn at random up to a set number. All answers but the
first are prefilled with the judge's.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import SourceError
from tasks.evaluation.forms.page import render_page

FORMAT = "vignette-omissions"
FORM_STREAM = 87
Included = Literal["yes", "partially", "no"]


class ValidatedFact(BaseModel):
    """A clinician's answers on one fact."""

    model_config = ConfigDict(extra="forbid", strict=True)
    record: str  # "document/fact"
    included: Included
    supports: int = Field(ge=0)
    refutes: int = Field(ge=0)
    category: Literal["critical", "important", "other"]


class Validation(BaseModel):
    """A returned file."""

    model_config = ConfigDict(extra="forbid", strict=True)
    format: str
    form: str
    rater: str
    signature: str = ""
    complete: bool = True
    facts: list[ValidatedFact]


def form_facts(
    facts: pd.DataFrame, omitted: pd.DataFrame, system: str, *, per_document: int, seed: int
) -> pd.DataFrame:
    """FACTS on the form with ``omitted``: all that the system omits, then random others up to ``per_document``."""
    mine = omitted[(omitted["system"] == system) & omitted["omitted"].notna()]
    merged = facts.merge(mine[["document", "fact", "omitted"]], on=["document", "fact"])
    merged = merged[merged["category"].notna()]
    rng, chosen = np.random.default_rng([seed, FORM_STREAM]), []
    for _, group in merged.groupby("document", sort=True):
        left_out = group[group["omitted"].astype(bool)]
        rest = group[~group["omitted"].astype(bool)]
        more = min(max(per_document - len(left_out), 0), len(rest))
        drawn = rest.iloc[np.sort(rng.choice(len(rest), size=more, replace=False))] if more else rest.iloc[:0]
        chosen += [left_out, drawn]
    found = pd.concat(chosen) if chosen else merged
    return found.sort_values(["document", "fact"], ignore_index=True)


def form_id(shown: pd.DataFrame) -> str:
    """Hash of a form's content: a file returned for another form is refused."""
    content = shown[["document", "fact", "text"]].to_json(orient="values")
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def render_validation_form(
    shown: pd.DataFrame, facts: pd.DataFrame, differentials: pd.DataFrame, summaries: Mapping[str, str], rater: str
) -> str:
    """HTML of the form: each fact with the summary, the differential and all facts of its document.

    ``differentials``: document, diagnosis and likelihood, in the order in which they are shown.
    """
    listed = {document: group["text"].tolist() for document, group in facts.groupby("document")}
    named: dict[str, list[str]] = {}
    for row in differentials.itertuples():
        named.setdefault(row.document, []).append(f"{row.diagnosis} ({row.likelihood})")
    items = [
        {
            "record": f"{row.document}/{row.fact}",
            "fact": row.text,
            "summary": summaries[row.document],
            "diagnoses": named.get(row.document, []),
            "facts": listed[row.document],
            "supports": len(json.loads(row.supports)),
            "refutes": len(json.loads(row.refutes)),
            "category": row.category,
        }
        for row in shown.itertuples()
    ]
    data = {"format": FORMAT, "form": form_id(shown), "rater": rater, "noun": "fact", "items": items}
    return render_page("Validating omissions", "omissions.js", data)


def read_validations(files: Mapping[str, str], shown: pd.DataFrame) -> pd.DataFrame:
    """Read returned files (name -> text): rater, document, fact, included, supports, refutes, category.

    Raises SourceError that names each file of another form, with an unknown fact, or with a fact answered twice.
    """
    problems: list[str] = []
    rows: list[tuple[str, str, str, str, int, int, str]] = []
    known = set(shown["document"] + "/" + shown["fact"])
    for name, text in sorted(files.items()):
        try:
            given = Validation.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            problems.append(f"{name}: not a file of the omission form ({where}: {first['msg']})")
            continue
        answered = [fact.record for fact in given.facts]
        if given.format != FORMAT or given.form != form_id(shown):
            problems.append(f"{name}: is of form {given.form}, expected {form_id(shown)}")
        elif unknown := sorted(set(answered) - known):
            problems.append(f"{name}: facts {unknown[:3]} are not on the form")
        elif len(set(answered)) < len(answered):
            problems.append(f"{name}: a fact is answered twice")
        for fact in given.facts:
            document, _, label = fact.record.rpartition("/")
            rows.append((given.rater, document, label, fact.included, fact.supports, fact.refutes, fact.category))
    if problems:
        raise SourceError("; ".join(problems))
    return pd.DataFrame(rows, columns=["rater", "document", "fact", "included", "supports", "refutes", "category"])
