"""The form in which clinicians validate omissions (MED-OMIT, Section 4 and Appendix B), and its labels.

It shows a random sample of the judged facts, sized by a power calculation. It holds none of the judge's answers, which
would anchor the clinician's, unless `FormSample.show_judge` asks for them: then those on a fact are shown after the
clinician's own. A label says whether a summary contains a fact.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from schemas.params.measures import FormSample
from tasks.measures.med_omit.judging import DIAGNOSES, GRADED, OMITTED
from tasks.people.forms import Form, Item, holding, labelled
from tasks.statistics.power import clustered_size, paired_pairs

FORM_STREAM = 87
MOST_DIAGNOSES = 100
"""More than a differential has."""
_GRADES = ("supports", "refutes", "category")
"""The judge's answers in a row of `judged_facts`."""


class ValidatedFact(Item):
    """A clinician's answers on one fact."""

    record: str  # "document/fact"
    included: Literal["yes", "partially", "no"]
    supports: int = Field(ge=0, le=MOST_DIAGNOSES)
    refutes: int = Field(ge=0, le=MOST_DIAGNOSES)
    category: Literal["critical", "important", "other"]


@dataclass(frozen=True, eq=False)
class OmissionForm(Form):
    """The form of facts (`judged_facts`): ``shown`` of those judged, whose number is ``of``.

    ``needed``: how many facts have the power that ``size`` asks for; None if no number of facts of its documents does.
    """

    format, kind, noun = "vignette-omissions", "omission", "fact"
    title, script, answer, listed = "Validating omissions", "omissions.js", ValidatedFact, "facts"
    shown: pd.DataFrame
    of: int
    size: FormSample
    needed: int | None

    @property
    def content(self) -> str:
        """The facts with their texts."""
        return str(self.shown[["document", "fact", "text"]].to_json(orient="values"))

    @cached_property
    def records(self) -> set[str]:
        """Each fact as "document/fact"."""
        return set(self.shown["document"] + "/" + self.shown["fact"])

    def validations(self, files: Mapping[str, str]) -> pd.DataFrame:
        """The answers in returned files: rater, document, fact, included, supports, refutes, category."""
        rows = [
            (rater, *fact.record.rsplit("/", 1), fact.included, fact.supports, fact.refutes, fact.category)
            for rater, file in self.read_by_rater(files)
            for fact in file.items
        ]
        return pd.DataFrame(rows, columns=["rater", "document", "fact", "included", "supports", "refutes", "category"])

    def filled(self, verdicts: pd.DataFrame, summaries: Mapping[str, str], rater: str) -> str:
        """HTML of the form: each fact with the summary, the differential and all facts of its document."""
        likely = verdicts["text"] + " (" + verdicts["verdict"] + ")"
        said = verdicts["text"].mask(verdicts["metric"] == DIAGNOSES, likely)
        of = {key: rows.tolist() for key, rows in said.groupby([verdicts["metric"], verdicts["document"]])}
        items = [
            {
                "record": f"{row.document}/{row.fact}",
                "fact": row.text,
                "summary": summaries[row.document],
                "diagnoses": of.get((DIAGNOSES, row.document), []),
                "facts": of[GRADED, row.document],
                **({"judge": {name: getattr(row, name) for name in _GRADES}} if self.size.show_judge else {}),
            }
            for row in self.shown.itertuples()
        ]
        return self.page(rater, items, sample=self.explanation())

    def explanation(self) -> str:
        """Why the form holds as many facts as it does, for its readers."""
        size, shown = self.size, len(self.shown)
        finding = (
            f"to find, with a probability of {size.power:.0%}, that the judge's share of omitted facts differs from "
            f"yours by {100 * size.difference:g} percentage points"
        )
        if self.needed is None:
            return (
                f"This form holds {shown:,} of {self.of:,} facts. No number of facts of so few documents is enough "
                f"{finding}, as those of one document are alike."
            )
        if shown < self.needed:
            return f"This form holds all {shown} facts that were judged. {self.needed} would be needed {finding}."
        return (
            f"This form holds {shown:,} of {self.of:,} facts, drawn at random. That is enough {finding} or more "
            f"(McNemar's exact test at {size.level:.0%}), if you and the judge agree on {size.agreement:.0%} of the "
            "facts."
        )


def omission_form(verdicts: pd.DataFrame, system: str, size: FormSample, *, seed: int) -> OmissionForm:
    """The form of a simple random sample of the judged and graded facts, as large as ``size`` asks for.

    It contains facts that the judge found omitted as often as they are among all facts, so that the answers are labels
    of a random sample of the judge's verdicts.
    """
    judged = judged_facts(verdicts, system).sort_values(["document", "fact"], ignore_index=True)
    independent = paired_pairs(size.difference, 1 - size.agreement, power=size.power, level=size.level)
    clusters = min(max(judged["document"].nunique(), 1), independent)  # of more documents, each fact has its own
    needed = clustered_size(independent, clusters, size.correlation)
    wanted = min(independent if needed is None else needed, len(judged))
    drawn = np.sort(np.random.default_rng([seed, FORM_STREAM]).choice(len(judged), size=wanted, replace=False))
    return OmissionForm(judged.iloc[drawn].reset_index(drop=True), len(judged), size, needed)


def judged_facts(verdicts: pd.DataFrame, system: str) -> pd.DataFrame:
    """Facts with a grade and a verdict on the system's summary, and of how many diagnoses each is evidence."""
    of = {name: verdicts[verdicts["metric"] == name].rename(columns={"unit": "fact"}) for name in (OMITTED, GRADED)}
    mine = of[OMITTED][(of[OMITTED]["system"] == system) & of[OMITTED]["value"].notna()]
    mine = mine[["document", "fact"]].assign(omitted=mine["value"].astype(bool))
    graded = of[GRADED].dropna(subset="verdict").rename(columns={"verdict": "category"})
    evidence = graded["reason"].map(json.loads)
    counts = {name: evidence.map(lambda listed, of=name: len(listed[of])) for name in ("supports", "refutes")}
    return graded[["document", "fact", "text", "category"]].assign(**counts).merge(mine, on=["document", "fact"])


def omission_labels(verdicts: pd.DataFrame, system: str, validations: pd.DataFrame, judge: str) -> pd.DataFrame:
    """VERDICTS of "the summary contains the fact", labelled by clinicians, whose "partially" is a no."""
    judged = judged_facts(verdicts, system)
    made = ((one.document, one.fact, judge, not one.omitted) for one in judged.itertuples())
    people = ((one.document, one.fact, one.rater, one.included == "yes") for one in validations.itertuples())
    return labelled(holding("omissions", made), holding("omissions", people))
