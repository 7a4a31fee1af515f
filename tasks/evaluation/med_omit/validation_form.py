"""The form in which clinicians validate omissions (MED-OMIT, Section 4 and Appendix B), and reading it back.

It shows a random sample of the judged facts, sized by a power calculation. All answers but the first are prefilled with
the judge's.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from schemas.params.med_omit import FormSample
from tasks.evaluation.forms.page import render_page
from tasks.evaluation.forms.raters import rater_names
from tasks.evaluation.forms.returned import ReturnedFile, parse_files, require_none, sent_twice
from tasks.statistics.power import paired_pairs

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


class Validation(ReturnedFile):
    """A returned file."""

    facts: list[ValidatedFact]


@dataclass(frozen=True)
class Sample:
    """The facts on a form (FACTS with ``omitted``), and how many there were to draw from."""

    shown: pd.DataFrame
    of: int
    size: FormSample


def form_facts(facts: pd.DataFrame, omitted: pd.DataFrame, system: str, size: FormSample, *, seed: int) -> Sample:
    """A simple random sample of the judged and graded facts, as large as ``size`` asks for (`paired_pairs`).

    It contains facts that the judge found omitted as often as they are among all facts, so that the answers are labels
    of a random sample of the judge's verdicts.
    """
    mine = omitted[(omitted["system"] == system) & omitted["omitted"].notna()]
    merged = facts.merge(mine[["document", "fact", "omitted"]], on=["document", "fact"])
    judged = merged[merged["category"].notna()].sort_values(["document", "fact"], ignore_index=True)
    wanted = min(_facts_needed(size), len(judged))
    drawn = np.sort(np.random.default_rng([seed, FORM_STREAM]).choice(len(judged), size=wanted, replace=False))
    return Sample(judged.iloc[drawn].reset_index(drop=True), len(judged), size)


def _facts_needed(size: FormSample) -> int:
    return paired_pairs(size.difference, 1 - size.agreement, power=size.power, level=size.level)


def explanation(sample: Sample) -> str:
    """Why the form holds as many facts as it does, for its readers."""
    size, needed, shown = sample.size, _facts_needed(sample.size), len(sample.shown)
    if shown < needed:
        return (
            f"This form holds all {shown} facts that were judged. {needed} would be needed to find, with a probability "
            f"of {size.power:.0%}, that the judge's share of omitted facts differs from yours by {_points(size)}."
        )
    return (
        f"This form holds {shown} of {sample.of} facts, drawn at random. That is enough to find, with a probability of "
        f"{size.power:.0%}, that the judge's share of omitted facts differs from yours by {_points(size)} or more "
        f"(two-sided test of paired shares at {size.level:.0%}), if you and the judge agree on {size.agreement:.0%} of "
        "the facts."
    )


def _points(size: FormSample) -> str:
    return f"{100 * size.difference:g} percentage points"


def form_id(shown: pd.DataFrame) -> str:
    """Hash of a form's content: a file returned for another form is refused."""
    content = shown[["document", "fact", "text"]].to_json(orient="values")
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def render_validation_form(
    sample: Sample, facts: pd.DataFrame, differentials: pd.DataFrame, summaries: Mapping[str, str], rater: str
) -> str:
    """HTML of the form: each fact with the summary, the differential and all facts of its document.

    ``differentials``: document, diagnosis and likelihood, in the order in which they are shown.
    """
    shown = sample.shown
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
    return render_page("Validating omissions", "omissions.js", data | {"sample": explanation(sample)})


def read_validations(files: Mapping[str, str], shown: pd.DataFrame) -> pd.DataFrame:
    """Read returned files (name -> text): rater, document, fact, included, supports, refutes, category.

    Clinicians who filled in copies of the same form are numbered in the order of the files' names. Raises SourceError
    that names each file of another form, with an unknown fact, with a fact answered twice, or sent twice.
    """
    problems: list[str] = []
    given = parse_files(files, Validation, "omission", problems)
    known = set(shown["document"] + "/" + shown["fact"])
    for name, form in given.items():
        problems += [f"{name}: {problem}" for problem in _problems(form, form_id(shown), known)]
    require_none([*problems, *sent_twice(given)], "omission")
    rows = [
        (rater, *_split(fact.record), fact.included, fact.supports, fact.refutes, fact.category)
        for rater, form in zip(rater_names(form.rater for form in given.values()), given.values(), strict=True)
        for fact in form.facts
    ]
    return pd.DataFrame(rows, columns=["rater", "document", "fact", "included", "supports", "refutes", "category"])


def _problems(form: Validation, expected: str, known: set[str]) -> list[str]:
    answered = [fact.record for fact in form.facts]
    if form.format != FORMAT or form.form != expected:
        return [f"is of form {form.form}, expected {expected}"]
    if unknown := sorted(set(answered) - known):
        return [f"facts {unknown[:3]} are not on the form"]
    return ["a fact is answered twice"] if len(set(answered)) < len(answered) else []


def _split(record: str) -> tuple[str, str]:
    document, _, fact = record.rpartition("/")
    return document, fact
