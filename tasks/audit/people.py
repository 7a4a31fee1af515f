"""Judges and people on the same units: a judge's verdicts as its measure makes them (`OfPeople`), and their agreement.

The judge sees texts and units, and nothing of what people said. Units count or not; where a judge grades them, the area
under the curve shows how its grades part those that count for people from the others. Units of one text vary together:
intervals are over documents.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from schemas.tables.verdicts import verdict_table
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row
from tasks.measures.doclens.evaluators import InstructionEvaluator, Question, Style, Verdicts
from tasks.measures.grounding.grounding import ground
from tasks.measures.measure import Metric, unit_values
from tasks.measures.med_omit.cases import Case, add_differential, add_importance
from tasks.measures.med_omit.fact_score import IMPORTANCE
from tasks.statistics.agreement import FEWEST_PAIRS, area, correlation_interval, kappa_interval
from tasks.statistics.metric_rows import Row, mean_row, metric_row, statistic_row
from tasks.texts.document import Document
from tasks.texts.judged_units import K_QA, STATEMENTS, read_k_qa, read_primock57

UNIT = ["document", "system", "item", "metric"]
STRICT, CLINICIAN = "strict", "clinician"
"""Readings of claims and statements."""
DIFFERENTIAL, NOTE = "differential", "note"
"""Readings of facts: what their importance is graded for."""


@dataclass(frozen=True)
class OfPeople:
    """Units that people judge as a measure does, by the source or else ``of_output``.

    ``readings``: in which a judge is asked; ``views``: what is asked of a unit, and what counts of people's verdicts
    and of the judge's. ``read``: the judge's words on questions in a reading, at most so many claims a call;
    ``values``: of its words. ``by_person``: each person's units are judged for themselves. ``further``: further
    VERDICTS of a judge on people's.
    """

    readings: Sequence[str]
    views: Mapping[str, tuple[Metric, Metric]]
    read: Callable[[Ask, str, Sequence[Question], int], Awaitable[Sequence[Verdicts]]]
    values: Mapping[str, float]
    of_output: bool = False
    by_person: bool = False
    further: Mapping[str, Callable[[Ask, pd.DataFrame, int], Awaitable[tuple[pd.DataFrame, Unscored]]]] = field(
        default_factory=dict
    )


_ENTAILS = {True: "entailed", False: "not entailed", None: None}
_OF_CLAIMS = {"entailed": 1.0, "not entailed": 0.0}


async def read_claims(ask: Ask, reading: str, questions: Sequence[Question], claims_a_call: int) -> list[Verdicts]:
    """Whether each claim is entailed, strictly or as a clinician would say."""
    style: Style = "clinician" if reading == CLINICIAN else "json_cot"
    found = await InstructionEvaluator(ask, style, claims_a_call=claims_a_call)(questions)
    return [replace(own, units=tuple((one, why, _ENTAILS[one]) for one, why, _ in own.units)) for own in found]


async def read_statements(ask: Ask, reading: str, questions: Sequence[Question], claims_a_call: int) -> list[Verdicts]:
    """What the source says of each statement, strictly or as a clinician would say."""
    return await ground(ask, questions, claims_a_call, clinician=reading == CLINICIAN)


async def read_facts(ask: Ask, reading: str, questions: Sequence[Question], _: int) -> list[Verdicts]:
    """The grade of each fact, for the differential or for a note."""
    facts = [{f"F{at}": ("", text) for at, text in enumerate(one.claims)} for one in questions]
    cases = [Case(one.key, one.premise, own) for one, own in zip(questions, facts, strict=True)]
    if reading == DIFFERENTIAL:
        cases = await add_differential(ask, cases)
    found = []
    for case in await add_importance(ask, cases, "note" if reading == NOTE else "differential"):
        units, failed = [(None, None, case.categories.get(fact)) for fact in case.facts], case.failure or {}
        found.append(Verdicts(tuple(units), failed.get("reason"), failed.get("detail")))
    return found


async def judge_lists(ask: Ask, people: pd.DataFrame, claims_a_call: int) -> tuple[pd.DataFrame, Unscored]:
    """Whether each fact of one person's list is among the critical ones of another's on the same source.

    The judge only finds the fact; so the VERDICTS are the other person's, as far as the judge reads both lists right.
    """
    lists = dict(iter(people.groupby(["document", "judge"], sort=False)))
    pairs = [(one, by) for one, by in permutations(lists, 2) if one[0] == by[0]]
    critical = {name: own.loc[own["verdict"] == "critical", "text"] for name, own in lists.items()}
    questions = [
        Question(f"{'/'.join(one)}/by {by[1]}", "\n".join(critical[by]), tuple(lists[one]["text"])) for one, by in pairs
    ]
    found = await read_claims(ask, CLINICIAN, questions, claims_a_call)
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    for (one, by), judged in zip(pairs, found, strict=True):
        if judged.failure is not None:
            unscored.append(unscored_row(one[0], f"facts wanted by {by[1]}", judged.failure, judged.raw))
        for unit, (*_, word) in zip(lists[one][[*UNIT, "unit", "text"]].to_dict("records"), judged.units, strict=True):
            graded = {"entailed": "critical", "not entailed": "other"}.get(word or "")
            named = {"judge": by[1], "condition": "list", "verdict": graded}
            rows.append({**unit, **named, "value": word and _OF_CLAIMS[word]})
    return verdict_table(rows, judge=ask.label), unscored


_ENTAILED = Metric(of="claim_recall")
_CRITICAL = Metric(of="importance", words={"critical": 1.0})
_WRONG = Metric(of="claims_supported", words={"incorrect": 1.0})
OF_PEOPLE: Mapping[str, OfPeople] = {
    "claims": OfPeople(
        (STRICT, CLINICIAN), {"claim entailed": (_ENTAILED, _ENTAILED)}, read_claims, _OF_CLAIMS, of_output=True
    ),
    "statements": OfPeople(
        (STRICT, CLINICIAN),
        {
            f"statement wrong: {name}": (_WRONG, Metric(of="claims_supported", words=dict.fromkeys(words, 1.0)))
            for name, words in {"not supported": ("contradicted", "absent"), "contradicted": ("contradicted",)}.items()
        },
        read_statements,
        {"supported": 1.0, "contradicted": 0.0, "absent": 0.0},
    ),
    "facts": OfPeople(
        (DIFFERENTIAL, NOTE),
        {"fact critical for the note": (_CRITICAL, Metric(of="importance", words=dict(IMPORTANCE)))},
        read_facts,
        IMPORTANCE,
        by_person=True,
        further={"another's list": judge_lists},
    ),
}
"""By the kind of units; each person's list of facts is graded for itself."""
FURTHER = frozenset(name for one in OF_PEOPLE.values() for name in one.further)
"""Readings whose verdicts are people's, which a judge only finds."""


@dataclass(frozen=True)
class PeopleSet:
    """Documents and people's VERDICTS on units of a ``kind``; ``name`` is that of the data set."""

    name: str
    kind: str
    documents: Sequence[Document]
    verdicts: pd.DataFrame


def people_sets(folder: Path | None) -> list[PeopleSet]:
    """The sets of people's verdicts on units that a measure judges, of which the folder has the files."""
    found = list[PeopleSet]()
    if folder is not None and (folder / K_QA).is_file():
        answers, claims = read_k_qa(folder)
        found.append(PeopleSet("K-QA", "claims", answers, verdict_table(claims, judge="people")))
    if folder is not None and (folder / STATEMENTS).is_file():
        documents, *units = read_primock57(folder)
        for kind, rows in zip(("statements", "facts"), units, strict=True):
            found.append(PeopleSet("PriMock57", kind, documents, verdict_table(rows, judge="people")))
    return found


async def judge_units(ask: Ask, asked: PeopleSet, reading: str, claims_a_call: int) -> tuple[pd.DataFrame, Unscored]:
    """The judge's VERDICTS on the units of a set in one of its readings, the condition; and unscored rows."""
    documents, how = {one.id: one for one in asked.documents}, OF_PEOPLE[asked.kind]
    units = asked.verdicts.drop_duplicates([*UNIT, "unit"])
    parts = [own for _, own in units.groupby([*UNIT, "judge"] if how.by_person else UNIT, sort=False)]
    questions = []
    for own in parts:
        first = own.iloc[0]
        one, key = documents[first["document"]], "/".join(first[["document", "system", "judge"]])
        premise, heading = (one.outputs[first["system"]], one.heading) if how.of_output else (one.text, None)
        questions.append(Question(key, premise, tuple(own["text"]), heading=heading))
    found = await how.read(ask, reading, questions, claims_a_call)
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    for own, judged in zip(parts, found, strict=True):
        if judged.failure is not None:
            step = f"{asked.kind} of {own['system'].iloc[0]}"
            unscored.append(unscored_row(own["document"].iloc[0], step, judged.failure, judged.raw))
        for unit, (_, reason, word) in zip(own[[*UNIT, "unit", "text"]].to_dict("records"), judged.units, strict=True):
            about = {**unit, "condition": reading, "verdict": word, "reason": reason}
            rows.append({**about, "value": word and how.values[word]})
    return verdict_table(rows, judge=ask.label), unscored


async def judge_set(
    asks: Sequence[Ask], asked: PeopleSet, claims_a_call: int
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """VERDICTS of all judges on the units of a set by reading, and unscored rows."""
    found, unscored, how = dict[str, pd.DataFrame](), list[dict[str, str | None]](), OF_PEOPLE[asked.kind]
    for reading in how.readings:
        made = [await judge_units(ask, asked, reading, claims_a_call) for ask in asks]
        found[reading] = pd.concat([verdicts for verdicts, _ in made], ignore_index=True)
        unscored += [row for _, rows in made for row in rows]
    for name, judge in how.further.items():
        found[name], failed = await judge(asks[-1], asked.verdicts, claims_a_call)
        unscored += failed
    return found, unscored


STAGE = "agreement_with_people"
TEXT = ["document", "system", "item"]
MAJORITY, ALL, PEOPLE = "majority", "all", "people"
"""All: where each judged units of their own."""
FEWEST_RATERS = 3
"""Of whom the majority, or all together, is one more to agree with."""
COUNTS = 0.5
"""Least value of a unit that counts: of grades in three, all but the least."""


def agreement_rows(
    people: pd.DataFrame, judged: Mapping[str, pd.DataFrame], metrics: tuple[Metric, Metric], asked: str
) -> list[Row]:
    """Rows of each judge, and of each of the people, against each of the people and against their majority.

    ``people``: VERDICTS; ``judged``: VERDICTS on the same units by reading, the condition; ``metrics``: what counts of
    people's verdicts and of the judge's; ``asked``: what is asked of a unit, to which the item adds against whom.
    """
    own = unit_values(people, {str(metrics[0].of): metrics[0]})
    raters = {str(name): rows for name, rows in own.groupby("judge", sort=True)}
    several = len(own.drop_duplicates([*TEXT, "unit"])) < len(own)
    against = {**raters, **({MAJORITY if several else ALL: majority(own)} if len(raters) >= FEWEST_RATERS else {})}
    rows: list[Row] = []
    for reading, verdicts in judged.items():
        for judge, found in unit_values(verdicts, {str(metrics[1].of): metrics[1]}).groupby("judge", sort=True):
            about: Row = {"system": judge, "condition": reading, "provenance": f"judge: {judge}"}
            for name, theirs in against.items():
                rows += _compared(found, theirs, item=f"{asked}, against {name}", **about)
    for one, other in permutations(raters, 2):
        about = {"system": one, "condition": PEOPLE, "item": f"{asked}, against {other}", "provenance": PEOPLE}
        rows += _compared(raters[one], raters[other], **about)
    return rows


def majority(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Whether more than half of those who judged a unit count it; null in a tie."""
    share = verdicts.groupby([*TEXT, "unit"], sort=False)["value"].mean().reset_index()
    return share.assign(value=(share["value"] > COUNTS).astype(float).mask(share["value"] == COUNTS))


def _compared(one: pd.DataFrame, other: pd.DataFrame, **about: Any) -> list[Row]:
    """Rows of the first verdicts against the second, on the units, and on the texts, that both judged.

    None where they share none. ``unscored``: units, or texts, of the second without a verdict of the first.
    """
    known = other[[*TEXT, "unit", "value"]].dropna(subset="value")
    both = known.merge(one[[*TEXT, "unit", "value"]], on=[*TEXT, "unit"], suffixes=("_people", ""))
    if both.empty:
        return []
    scored = both.dropna(subset="value")
    lost = both.loc[both["value"].isna(), "value_people"].to_numpy() >= COUNTS
    grades, truth = scored["value"].to_numpy(dtype=float), scored["value_people"].to_numpy() >= COUNTS
    judged, texts, about = grades >= COUNTS, scored["document"].to_numpy(), {**about, "unscored": len(lost)}
    rows = [
        metric_row("kappa", *kappa_interval(judged, truth, clusters=texts), n=len(scored), **about),
        mean_row("sensitivity", judged[truth], clusters=texts[truth], **about | {"unscored": int(lost.sum())}),
        mean_row("specificity", ~judged[~truth], clusters=texts[~truth], **about | {"unscored": int((~lost).sum())}),
    ]
    if len(np.unique(grades)) > 2:
        rows.append(statistic_row("auc", partial(area, truth, grades), len(scored), clusters=texts, **about))
    means = both.groupby(TEXT)[["value", "value_people"]].mean()
    known = means.dropna().reset_index()
    if known["document"].nunique() >= FEWEST_PAIRS and known["value_people"].nunique() > 1:
        found = correlation_interval(known["value"], known["value_people"], "pearson", clusters=known["document"])
        about = {**about, "unscored": len(means) - len(known)}
        rows.append(metric_row("pearson_of_texts", *found, n=len(known), **about))
    return rows


_SCORES = {"claim_recall_graded": ("FactualRecall", "in degrees"), "claims_supported": ("FactualPrecision", "strict")}
"""People's scores of MTS-Dialog's summaries, and the reading, by the metric that asks the same."""


def scored_text_rows(scored: pd.DataFrame) -> list[Row]:
    """Rows of MTS-Dialog's summaries, which people scored as a whole: those of `human_agreement` (METRICS)."""
    rows, kept = list[Row](), ["system", "value", "low", "high", "n", "unscored", "provenance"]
    for metric, (score, reading) in _SCORES.items():
        own = scored[(scored["item"] == metric) & (scored["condition"] == f"{score}, all summaries")]
        about = {"metric": "pearson_of_texts", "condition": reading, "item": f"MTS-Dialog, {score}, against annotators"}
        rows += [{**row, **about} for row in own.loc[own["metric"] == "pearson", kept].to_dict("records")]
    return rows
