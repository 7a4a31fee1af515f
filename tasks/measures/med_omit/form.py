"""The form in which clinicians validate omissions (MED-OMIT, Section 4 and Appendix B), its labels, and agreement.

It shows a random sample of the judged facts, sized by a power calculation. It holds none of the judge's answers, which
would anchor the clinician's, unless `FormSample.show_judge` asks for them: then those on a fact are shown after the
clinician's own. A label says whether a summary contains a fact.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from schemas.params import Params
from schemas.params.measures import FormSample
from tasks.measures.declared import Plan
from tasks.measures.doclens.judging import plain_documents
from tasks.measures.med_omit.fact_score import CATEGORIES
from tasks.measures.med_omit.judging import DIAGNOSES, GRADED, NAME, OMITTED, SYSTEM, output_parts
from tasks.measures.med_omit.measure import TABLE, scope_of
from tasks.people.forms import Form, Item, Returned, holding, labelled
from tasks.statistics.agreement import kappa_interval
from tasks.statistics.intervals import COUNT
from tasks.statistics.metric_rows import Row, mean_row, metric_row, metric_table, statistic_row
from tasks.statistics.power import clustered_size, paired_pairs
from tasks.texts.document import Document, Tables

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
    ``failed``: how many facts lack a grade or a verdict, and are not among those judged.
    """

    format, kind, noun = "vignette-omissions", "omission", "fact"
    title, script, answer, listed = "Validating omissions", "omissions.js", ValidatedFact, "facts"
    shown: pd.DataFrame
    of: int
    size: FormSample
    needed: int | None
    failed: int = 0

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
        lacking = f" Facts without a grade or a verdict, which are not on it: {self.failed:,}." if self.failed else ""
        finding = (
            f"to find, with a probability of {size.power:.0%}, that the judge's share of omitted facts differs from "
            f"yours by {100 * size.difference:g} percentage points"
        )
        if self.needed is None:
            return (
                f"This form holds {shown:,} of {self.of:,} facts. No number of facts of so few documents is enough "
                f"{finding}, as those of one document are alike.{lacking}"
            )
        if shown < self.needed:
            return (
                f"This form holds all {shown} facts that were judged. {self.needed} would be needed {finding}.{lacking}"
            )
        return (
            f"This form holds {shown:,} of {self.of:,} facts, drawn at random. That is enough {finding} or more "
            f"(McNemar's exact test at {size.level:.0%}), if you and the judge agree on {size.agreement:.0%} of the "
            f"facts.{lacking}"
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
    failed = int((verdicts["metric"].eq(OMITTED) & verdicts["system"].eq(system)).sum()) - len(judged)
    return OmissionForm(judged.iloc[drawn].reset_index(drop=True), len(judged), size, needed, failed)


def judged_facts(verdicts: pd.DataFrame, system: str) -> pd.DataFrame:
    """Facts with a grade and a verdict on the system's summary, and of how many diagnoses each is evidence.

    The numbers are None where a step of grading failed, and with it the weight.
    """
    of = {name: verdicts[verdicts["metric"] == name].rename(columns={"unit": "fact"}) for name in (OMITTED, GRADED)}
    mine = of[OMITTED][(of[OMITTED]["system"] == system) & of[OMITTED]["value"].notna()]
    mine = mine[["document", "fact"]].assign(omitted=mine["value"].astype(bool))
    graded = of[GRADED].dropna(subset="verdict").rename(columns={"verdict": "category"})
    evidence = graded["reason"].map(json.loads)
    counts = {
        name: evidence.map(lambda listed, of=name: len(listed[of])).astype(object).where(graded["weight"].notna(), None)
        for name in ("supports", "refutes")
    }
    return graded[["document", "fact", "text", "category"]].assign(**counts).merge(mine, on=["document", "fact"])


def omission_labels(verdicts: pd.DataFrame, system: str, validations: pd.DataFrame, judge: str) -> pd.DataFrame:
    """VERDICTS of "the summary contains the fact", labelled by clinicians, whose "partially" is a no."""
    judged = judged_facts(verdicts, system)
    made = ((one.document, one.fact, judge, not one.omitted) for one in judged.itertuples())
    people = ((one.document, one.fact, one.rater, one.included == "yes") for one in validations.itertuples())
    return labelled(holding("omissions", made), holding("omissions", people))


INCLUDED = ("no", "partially", "yes")
_KAPPAS: dict[str, Literal["linear"] | None] = {"kappa": None, "kappa_linear": "linear"}
_RANKS = {name: rank for names in (INCLUDED, CATEGORIES) for rank, name in enumerate(names)}


def agreement_with_judge(shown: pd.DataFrame, validations: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS rows of Table 1: agreement on omission and importance, mean absolute difference of counts.

    MED-OMIT counts a fact as omitted when any part of it is (Section 3), so that both "no" and "partially" are
    omissions; ``agreement_figure_5`` counts "partially" as included, as in its Figure 5. ``omission_share_difference``
    is the judge's share of omitted facts less the clinicians', for which the form is sized.

    The cells of both confusion matrices are rows of metric ``confusion`` and item "judge value / clinician value", and
    the distributions of Figures 7 and 9 of metric ``share_of_facts`` and item "supports, difference 1". Where several
    clinicians answered, ``agreement`` is also each one's own.
    """
    merged = validations.merge(shown, on=["document", "fact"], suffixes=("", "_judge"))
    raters = merged["rater"].nunique()
    omitted, missing = merged["omitted"], merged["included"] != "yes"
    rows = [
        mean_row("omission_share_difference", omitted.astype(int) - missing, bounds=(-1, 1), item="omission"),
        mean_row("agreement", omitted == missing, item="omission"),
        mean_row("agreement_figure_5", omitted == (merged["included"] == "no"), item="omission"),
        mean_row("agreement", merged["category"] == merged["category_judge"], item="importance"),
    ]
    for stance in ("supports", "refutes"):
        distance = (merged[stance] - merged[f"{stance}_judge"].astype(float)).abs().dropna().astype(int)
        rows.append(mean_row("mean_absolute_difference", distance, bounds=COUNT, item=stance))
        rows.append(_deviation_row("absolute_difference_std", distance.to_numpy(dtype=float), stance))
        rows += [
            metric_row("share_of_facts", share, n=len(distance), item=f"{stance}, difference {apart}")
            for apart, share in distance.value_counts(normalize=True).sort_index().items()
        ]
    same = {"omission": omitted == missing, "importance": merged["category"] == merged["category_judge"]}
    for rater, own in merged.groupby("rater") if raters > 1 else ():
        left = len(shown) - len(own)
        rows += [
            mean_row("agreement", one[own.index], item=f"{item}, {rater}", unscored=left) for item, one in same.items()
        ]
    found = omitted.map({True: "omitted", False: "present"})
    for judged, given in ((found, merged["included"]), (merged["category_judge"], merged["category"])):
        table = pd.crosstab(judged, given)
        rows += [
            metric_row("confusion", float(table.loc[one, other]), n=len(merged), item=f"{one} / {other}")
            for one in table.index
            for other in table.columns
        ]
    return _table(rows, "clinicians and judge", seed, provenance, of=raters * len(shown))


def agreement_between(shown: pd.DataFrame, validations: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS rows of Table 4: exact match, Cohen's kappa and linearly weighted kappa of each pair of clinicians.

    Over the facts that all clinicians answered: the share with equal answers and, for the counts of diagnoses, mean and
    standard deviation of the largest difference.
    """
    rows = list[Row]()
    raters = sorted(validations["rater"].unique())
    for question in ("included", "category", "supports", "refutes") if len(raters) > 1 else ():
        wide = validations.pivot(index=["document", "fact"], columns="rater", values=question).dropna()
        rows.append(mean_row("exact_match", wide.nunique(axis=1) == 1, item=question))
        if question in ("supports", "refutes"):
            counts = wide.to_numpy(dtype=float).reshape(len(wide), -1)
            spread = np.ptp(counts, axis=1) if len(counts) else np.array([])
            rows.append(mean_row("largest_difference", spread, bounds=COUNT, item=question))
            rows.append(_deviation_row("largest_difference_std", spread, question))
    for one, other in combinations(raters, 2):
        both = [validations[validations["rater"] == name] for name in (one, other)]
        pair = both[0].merge(both[1], on=["document", "fact"], suffixes=("", "_other"))
        for question in ("included", "category"):
            item, columns = f"{question}: {one} and {other}", (question, f"{question}_other")
            first, second = (pair[name].map(_RANKS).to_numpy(dtype=int) for name in columns)
            rows.append(mean_row("exact_match", first == second, item=item))
            for metric, weights in _KAPPAS.items():
                rows.append(metric_row(metric, *kappa_interval(first, second, weights), n=len(first), item=item))
    return _table(rows, "clinicians", seed, provenance, of=len(shown))


def _deviation_row(metric: str, values: np.ndarray, item: str) -> Row:
    """Row of the standard deviation of the values."""
    return statistic_row(metric, lambda drawn: float(np.std(values[drawn])), len(values), bounds=None, item=item)


def _table(rows: list[Row], system: str, seed: int, provenance: str, of: int) -> pd.DataFrame:
    """METRICS; of the ``of`` answers of a full form, or of one from each clinician, those not given are unscored."""
    rows = [{"unscored": of - row["n"], **row} for row in rows]
    return metric_table(rows, stage=NAME, system=system, condition="validation", seed=seed, provenance=provenance)


def evaluated_forms(documents: Sequence[Document], tables: Tables, plan: Plan, params: Params) -> dict[str, str]:
    """HTML of the form of an evaluation by system."""
    parts = output_parts(plain_documents(documents, plan.citing), scope_of(params.med_omit, plan))
    forms = {system: _of(tables, system, params) for system in plan.systems}
    return {name: form.filled(tables[TABLE], parts.get(name, {}), "clinician") for name, form in forms.items()}


def _of(tables: Tables, system: str, params: Params) -> OmissionForm:
    return omission_form(tables[TABLE], system, params.med_omit.form, seed=params.seed)


def evaluated_agreement(system: str, files: Mapping[str, str], tables: Tables, params: Params) -> pd.DataFrame:
    """METRICS of the files (name -> text) that were returned for a system of an evaluation."""
    form = _of(tables, system, params)
    about: dict[str, Any] = {"seed": params.seed, "provenance": "clinicians and judge"}
    given = form.validations(files)
    parts = [of(form.shown, given, **about) for of in (agreement_with_judge, agreement_between)]
    return pd.concat(parts, ignore_index=True).assign(condition=system)


RETURNED = Returned(
    OmissionForm.format,
    "med_omit",
    "omissions_returned",
    lambda load, params: omission_form(load("med_omit_judged"), SYSTEM, params.med_omit.form, seed=params.seed),
)
