"""A judge's verdicts on the units of texts that people judged: claims, statements of notes, and facts wanted in a note.

People's verdicts are VERDICTS, as are the judge's on the same units, so that `tasks.judges.people_agreement` compares
any two of them. The judge sees texts and units, and nothing of what people said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row
from tasks.measures.doclens.evaluators import InstructionEvaluator, Question, Style
from tasks.measures.grounding.grounding import ground
from tasks.measures.measure import Metric, verdict_table
from tasks.measures.med_omit.cases import Case, add_differential, add_importance
from tasks.measures.med_omit.fact_score import IMPORTANCE
from tasks.texts import k_qa, primock57
from tasks.texts.document import Document

UNIT = ["document", "system", "item", "metric"]
STRICT, CLINICIAN, DIFFERENTIAL, NOTE = "strict", "clinician", "differential", "note"
Kind = Literal["claims", "statements", "facts"]
_READ = (STRICT, CLINICIAN)
READINGS: Mapping[Kind, Sequence[str]] = {"claims": _READ, "statements": _READ, "facts": (DIFFERENTIAL, NOTE)}
"""How a judge is asked about each kind of units."""
_ENTAILED, _GRADE = Metric(of="claim_recall"), Metric(of="importance", words=dict(IMPORTANCE))
_WRONG = Metric(of="claims_supported", words={"incorrect": 1.0})
_CRITICAL = Metric(of="importance", words={"critical": 1.0})
VIEWS: Mapping[Kind, Mapping[str, tuple[Metric, Metric]]] = {
    "claims": {"claim entailed": (_ENTAILED, _ENTAILED)},
    "statements": {
        f"statement wrong: {name}": (_WRONG, Metric(of="claims_supported", words=dict.fromkeys(words, 1.0)))
        for name, words in {"not supported": ("contradicted", "absent"), "contradicted": ("contradicted",)}.items()
    },
    "facts": {"fact critical for the note": (_CRITICAL, _GRADE)},
}
"""What is asked of a unit, and what counts of people's verdicts and of the judge's."""
LISTS = "another's list"
"""Reading of the VERDICTS of one person on the facts of another, which a judge only finds."""
_PRIMOCK57: tuple[Kind, ...] = ("statements", "facts")
_ENTAILS = {True: "entailed", False: "not entailed", None: None}
VALUES = {"entailed": 1.0, "not entailed": 0.0, "supported": 1.0, "contradicted": 0.0, "absent": 0.0, **IMPORTANCE}
"""Of the judge's words."""


@dataclass(frozen=True)
class PeopleSet:
    """Documents and people's VERDICTS: on claims, each entailed by an output or not, on statements of outputs, each
    right by the source or not, or on facts of the source, each critical for a note or not.

    ``name`` is that of the data set. Each of several people's lists of facts is graded for itself.
    """

    name: str
    kind: Kind
    documents: Sequence[Document]
    verdicts: pd.DataFrame


def people_sets(folder: Path | None) -> list[PeopleSet]:
    """The sets of people's verdicts on units of which the folder has the files."""
    found = list[PeopleSet]()
    if folder is not None and (folder / k_qa.FILE).is_file():
        answers, claims = k_qa.read_k_qa(folder)
        found.append(PeopleSet("K-QA", "claims", answers, verdict_table(claims, judge="people")))
    if folder is not None and (folder / primock57.STATEMENTS).is_file():
        documents, *units = primock57.read_primock57(folder)
        for kind, rows in zip(_PRIMOCK57, units, strict=True):
            found.append(PeopleSet("PriMock57", kind, documents, verdict_table(rows, judge="people")))
    return found


@dataclass(frozen=True)
class _Judged:
    """The judge's words on the claims of a question and its reasons, in order, and why words are missing."""

    words: Sequence[str | None]
    reasons: Sequence[str | None] = ()
    failure: str | None = None
    raw: str | None = None


async def judge_units(
    ask: Ask, asked: PeopleSet, reading: str, claims_a_call: int = 20
) -> tuple[pd.DataFrame, Unscored]:
    """The judge's VERDICTS on the units of a set in one of its readings, the condition; and unscored rows."""
    documents = {one.id: one for one in asked.documents}
    units = asked.verdicts.drop_duplicates([*UNIT, "unit"])
    parts = [own for _, own in units.groupby([*UNIT, "judge"] if asked.kind == "facts" else UNIT, sort=False)]
    questions = []
    for own in parts:
        first = own.iloc[0]
        one, key = documents[first["document"]], "/".join(first[["document", "system", "judge"]])
        if asked.kind == "claims":
            questions.append(Question(key, one.outputs[first["system"]], tuple(own["text"]), heading=one.heading))
        else:
            questions.append(Question(key, one.text, tuple(own["text"])))
    found = await _judge(ask, asked.kind, reading, questions, claims_a_call)
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    for own, judged in zip(parts, found, strict=True):
        if judged.failure is not None:
            step = f"{asked.kind} of {own['system'].iloc[0]}"
            unscored.append(unscored_row(own["document"].iloc[0], step, judged.failure, judged.raw))
        known, reasons = own[[*UNIT, "unit", "text"]].to_dict("records"), judged.reasons or (None,) * len(own)
        for unit, word, reason in zip(known, judged.words, reasons, strict=True):
            about = {**unit, "condition": reading, "verdict": word, "reason": reason}
            rows.append({**about, "value": word and VALUES[word]})
    return verdict_table(rows, judge=ask.label), unscored


async def _judge(
    ask: Ask, kind: Kind, reading: str, questions: Sequence[Question], claims_a_call: int
) -> list[_Judged]:
    if kind == "statements":
        grounded = await ground(ask, questions, claims_a_call, clinician=reading == CLINICIAN)
        return [_Judged(one.verdicts, one.reasons, one.failure, one.raw) for one in grounded]
    if kind == "claims":
        style: Style = "clinician" if reading == CLINICIAN else "json_cot"
        judged = await InstructionEvaluator(ask, style, claims_a_call=claims_a_call)(questions)
        words = [[_ENTAILS[one] for one in verdicts.judgements] for verdicts in judged]
        return [_Judged(own, one.reasons, one.failure, one.raw) for own, one in zip(words, judged, strict=True)]
    facts = [{f"F{at}": ("", text) for at, text in enumerate(one.claims)} for one in questions]
    cases = [Case(one.key, one.premise, own) for one, own in zip(questions, facts, strict=True)]
    if reading == DIFFERENTIAL:
        cases = await add_differential(ask, cases)
    graded = await add_importance(ask, cases, "note" if reading == NOTE else "differential")
    failed = [(case.failure or {}).get for case in graded]
    grades = [[case.categories.get(fact) for fact in case.facts] for case in graded]
    return [_Judged(own, (), of("reason"), of("detail")) for own, of in zip(grades, failed, strict=True)]


async def judge_lists(ask: Ask, asked: PeopleSet, claims_a_call: int = 20) -> tuple[pd.DataFrame, Unscored]:
    """Whether each fact of one person's list is among the critical ones of another's on the same source.

    The judge only finds the fact; so the VERDICTS are the other person's, as far as the judge reads both lists right.
    """
    lists = dict(iter(asked.verdicts.groupby(["document", "judge"], sort=False)))
    pairs = [(one, by) for one, by in permutations(lists, 2) if one[0] == by[0]]
    critical = {name: own.loc[own["verdict"] == "critical", "text"] for name, own in lists.items()}
    questions = [
        Question(f"{'/'.join(one)}/by {by[1]}", "\n".join(critical[by]), tuple(lists[one]["text"])) for one, by in pairs
    ]
    found = await _judge(ask, "claims", CLINICIAN, questions, claims_a_call)
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    for (one, by), judged in zip(pairs, found, strict=True):
        if judged.failure is not None:
            unscored.append(unscored_row(one[0], f"facts wanted by {by[1]}", judged.failure, judged.raw))
        for unit, word in zip(lists[one][[*UNIT, "unit", "text"]].to_dict("records"), judged.words, strict=True):
            graded = {"entailed": "critical", "not entailed": "other"}.get(word or "")
            named = {"judge": by[1], "condition": "list", "verdict": graded, "value": word and VALUES[word]}
            rows.append({**unit, **named})
    return verdict_table(rows, judge=ask.label), unscored


async def judge_set(
    asks: Sequence[Ask], asked: PeopleSet, claims_a_call: int
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """VERDICTS of all judges on the units of a set by reading, and unscored rows."""
    found, unscored = dict[str, pd.DataFrame](), list[dict[str, str | None]]()
    for reading in READINGS[asked.kind]:
        made = [await judge_units(ask, asked, reading, claims_a_call) for ask in asks]
        found[reading] = pd.concat([verdicts for verdicts, _ in made], ignore_index=True)
        unscored += [row for _, rows in made for row in rows]
    if asked.kind == "facts":
        found[LISTS], failed = await judge_lists(asks[-1], asked, claims_a_call)
        unscored += failed
    return found, unscored
