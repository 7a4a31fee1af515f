"""A judge's verdicts on the units of texts that people judged: claims, statements of notes, and facts wanted in a note.

People's verdicts are VERDICTS, as are the judge's on the same units, so that `tasks.judges.people_agreement` compares
any two of them. The judge sees texts and units, and nothing of what people said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row
from tasks.measures.doclens.evaluators import InstructionEvaluator, Question, Style
from tasks.measures.grounding.grounding import ground
from tasks.measures.measure import Metric, verdict_table
from tasks.measures.med_omit.cases import Case, Importance, add_differential, add_importance
from tasks.measures.med_omit.fact_score import IMPORTANCE
from tasks.texts.document import Document

UNIT = ["document", "system", "item", "metric"]


@dataclass(frozen=True)
class PeopleSet:
    """Documents and people's VERDICTS on units of them; ``name`` is that of the data set.

    ``kind``: claims judged against an output, statements against the source, or facts graded for the note.
    ``readings``: how a judge is asked, by name. ``views``: what counts of people's and of the judge's verdicts, by what
    is asked of a unit.
    """

    name: str
    kind: Literal["claims", "statements", "facts"]
    documents: Sequence[Document]
    verdicts: pd.DataFrame
    readings: Mapping[str, Any]
    views: Mapping[str, tuple[Metric, Metric]]


STRICT, CLINICIAN, NOTE = "strict", "clinician", "note"
_ENTAILED = Metric(of="claim_recall")
_WRONG = Metric(of="claims_supported", words={"incorrect": 1.0})
_CRITICAL = Metric(of="importance", words={"critical": 1.0})


def claims_set(name: str, documents: Sequence[Document], rows: Sequence[Mapping[str, Any]]) -> PeopleSet:
    """Claims, each entailed by an output or not."""
    readings: Mapping[str, Style] = {STRICT: "json_cot", CLINICIAN: "clinician"}
    views = {"claim entailed": (_ENTAILED, _ENTAILED)}
    return PeopleSet(name, "claims", documents, verdict_table(rows, judge="people"), readings, views)


def statements_set(name: str, documents: Sequence[Document], rows: Sequence[Mapping[str, Any]]) -> PeopleSet:
    """Statements of outputs, each correct by the source or not."""
    unsupported = Metric(of="claims_supported", words={"contradicted": 1.0, "absent": 1.0})
    views = {
        "statement wrong: not supported": (_WRONG, unsupported),
        "statement wrong: contradicted": (_WRONG, Metric(of="claims_supported", words={"contradicted": 1.0})),
    }
    readings = {STRICT: False, CLINICIAN: True}
    return PeopleSet(name, "statements", documents, verdict_table(rows, judge="people"), readings, views)


def facts_set(name: str, documents: Sequence[Document], rows: Sequence[Mapping[str, Any]]) -> PeopleSet:
    """Facts of the source, each critical for a note or not; lists of several people are graded each for itself."""
    graded = Metric(of="importance", words=dict(IMPORTANCE))
    readings: Mapping[str, Importance] = {"differential": "differential", NOTE: "note"}
    verdicts = verdict_table(rows, judge="people")
    return PeopleSet(name, "facts", documents, verdicts, readings, {"fact critical for the note": (_CRITICAL, graded)})


async def judge_units(
    ask: Ask, asked: PeopleSet, reading: str, claims_a_call: int = 20
) -> tuple[pd.DataFrame, Unscored]:
    """The judge's VERDICTS on the units of a set in one of its readings, the condition; and unscored rows."""
    judge = {"claims": _claims, "statements": _statements, "facts": _facts}[asked.kind]
    units = asked.verdicts.drop_duplicates([*UNIT, "unit"])
    rows, unscored = await judge(ask, asked, units, asked.readings[reading], claims_a_call)
    return verdict_table([{**row, "condition": reading} for row in rows], judge=ask.label), unscored


async def judge_lists(ask: Ask, asked: PeopleSet, claims_a_call: int = 20) -> tuple[pd.DataFrame, Unscored]:
    """Whether each fact of one person's list is among the critical ones of another's on the same source.

    The judge only finds the fact; so the VERDICTS are the other person's, as far as the judge reads both lists right.
    """
    lists = dict(iter(asked.verdicts.groupby(["document", "judge"], sort=False)))
    pairs = [(one, other) for one in lists for other in lists if one[0] == other[0] and one != other]
    questions = [
        Question(
            f"{document}/{judge}/by {by}",
            "\n".join(lists[document, by].loc[lists[document, by]["verdict"] == "critical", "text"]),
            tuple(lists[document, judge]["text"]),
        )
        for (document, judge), (_, by) in pairs
    ]
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    found = await InstructionEvaluator(ask, "clinician", claims_a_call=claims_a_call)(questions)
    for (one, (_, by)), verdicts in zip(pairs, found, strict=True):
        own = lists[one]
        unscored += _unscored(own.iloc[0].to_dict(), f"facts wanted by {by}", verdicts.failure, verdicts.raw)
        for unit, judged in zip(own.to_dict("records"), verdicts.judgements, strict=True):
            word = {True: "critical", False: "not critical", None: None}[judged]
            value = None if judged is None else float(judged)
            rows.append({name: unit[name] for name in (*UNIT, "unit", "text")} | {"verdict": word, "value": value})
            rows[-1] |= {"judge": by, "condition": f"found by {ask.label}"}
    return verdict_table(rows, judge=ask.label), unscored


def _parts(units: pd.DataFrame) -> list[tuple[dict[str, str], pd.DataFrame]]:
    """The units of each text with what names it, in their order."""
    return [(dict(zip(UNIT, key, strict=True)), own) for key, own in units.groupby(UNIT, sort=False)]


def _unscored(about: Mapping[str, str], step: str, failure: str | None, raw: str | None) -> Unscored:
    return [] if failure is None else [unscored_row(about["document"], f"{step} of {about['system']}", failure, raw)]


async def _claims(
    ask: Ask, asked: PeopleSet, units: pd.DataFrame, style: Style, claims_a_call: int
) -> tuple[list[dict[str, Any]], Unscored]:
    documents, parts = {one.id: one for one in asked.documents}, _parts(units)
    questions = [
        Question(
            "/".join(about.values()),
            documents[about["document"]].outputs[about["system"]],
            tuple(own["text"]),
            heading=documents[about["document"]].heading,
        )
        for about, own in parts
    ]
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    found = await InstructionEvaluator(ask, style, claims_a_call=claims_a_call)(questions)
    for (about, own), one in zip(parts, found, strict=True):
        unscored += _unscored(about, "claims", one.failure, one.raw)
        told = zip(own["unit"], own["text"], one.judgements, one.reasons or (None,) * len(own), strict=True)
        for unit, text, judged, reason in told:
            value = None if judged is None else float(judged)
            rows.append({**about, "unit": unit, "text": text, "value": value, "reason": reason})
    return rows, unscored


async def _statements(
    ask: Ask, asked: PeopleSet, units: pd.DataFrame, clinician: bool, claims_a_call: int
) -> tuple[list[dict[str, Any]], Unscored]:
    sources, parts = {one.id: one.text for one in asked.documents}, _parts(units)
    questions = [
        Question("/".join(about.values()), sources[about["document"]], tuple(own["text"])) for about, own in parts
    ]
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    grounded = await ground(ask, questions, claims_a_call, clinician=clinician)
    for (about, own), one in zip(parts, grounded, strict=True):
        unscored += _unscored(about, "statements", one.failure, one.raw)
        for unit, text, word, reason in zip(own["unit"], own["text"], one.verdicts, one.reasons, strict=True):
            value = None if word is None else float(word == "supported")
            rows.append({**about, "unit": unit, "text": text, "value": value, "verdict": word, "reason": reason})
    return rows, unscored


async def _facts(
    ask: Ask, asked: PeopleSet, units: pd.DataFrame, importance: Importance, _: int
) -> tuple[list[dict[str, Any]], Unscored]:
    """Each person's list is a case of its own; those of a document share its differential."""
    sources = {one.id: one.text for one in asked.documents}
    parts = [
        (dict(zip([*UNIT, "list"], key, strict=True)), own)
        for key, own in units.assign(list=units["judge"]).groupby([*UNIT, "list"], sort=False)
    ]
    wanted = list(dict.fromkeys(about["document"] for about, _ in parts))
    of_documents = [Case(name, sources[name]) for name in wanted]
    if importance == "differential":
        of_documents = await add_differential(ask, of_documents)
    known = {case.key: case for case in of_documents}
    cases = [
        replace(
            known[about["document"]],
            key=f"{about['document']}/{about['list']}",
            facts={f"F{at}": ("", text) for at, text in enumerate(own["text"])},
        )
        for about, own in parts
    ]
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    for (about, own), case in zip(parts, await add_importance(ask, cases, importance), strict=True):
        if case.failure is not None:
            unscored.append(dict(case.failure))
        del about["list"]
        for at, (unit, text) in enumerate(zip(own["unit"], own["text"], strict=True)):
            word = case.categories.get(f"F{at}")
            value = None if word is None else IMPORTANCE[word]
            rows.append({**about, "unit": unit, "text": text, "value": value, "verdict": word})
    return rows, unscored
