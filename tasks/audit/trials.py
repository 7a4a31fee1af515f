"""A judge's answers to the cases of each task of a card, as rows of VERDICTS with what was asked.

Each function asks through the calls of the measure that the judge serves. `Nobody` answers nothing: with it, the rows
are the cases.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from schemas.params.measures import NoteQa
from schemas.tables.columns import typed
from schemas.tables.records import SPANS
from tasks.audit.cases import FIRST_PLACE, case_row
from tasks.audit.errors import FLAGGED, SENTENCE, VERSION
from tasks.audit.further import PART_LEFT_OUT, further_answers, joint_citations, part_omissions
from tasks.judges.consistency_checks import check_cases, plant_inconsistent
from tasks.judges.judging import judge_planted_citations, judge_planted_omissions
from tasks.judges.planted import plant_citations, plant_omissions
from tasks.judges.simulated_notes import gold_tables, write_gold
from tasks.llm.calls import Answer, Ask, Call
from tasks.measures.doclens.evaluators import Evaluator, Question
from tasks.measures.grounding.grounding import ground
from tasks.measures.measure import Judgement
from tasks.measures.note_qa.answering import judge_outputs, planted_answers
from tasks.measures.note_qa.patients import simulated_patients
from tasks.measures.note_qa.truth_questions import truth_questions

Rows = list[dict[str, Any]]
QUESTIONS = {
    "claims": "Does the text entail the claim?",
    "grounding": "Does the text support the claim?",
    "omissions": "Is the fact, or a part of it, missing from the text?",
    "citation recall": "Do the cited sentences entail the statement?",
    "citation precision": "Is the citation in brackets after the statement needed: do the cited sentences entail the "
    "statement, and this one alone, or not without it?",
    "answers": "Does the answer agree with the right one?",
    "consistency": "Does the note depart from what its record asks for: a symptom that it must mention left out or "
    "changed, one that it must not mention, or another health condition?",
    FLAGGED: "Does one of the numbered sentences have a clinical error?",
    SENTENCE: "One of the numbered sentences may have a clinical error. Is it in this one?",
    VERSION: "The versions of a text differ in one sentence, which has a clinical error in one of them. Is the first "
    "version the right one?",
}
"""What is asked of a case of each task; the truth is the answer, yes or no."""


class Nobody:
    """An `Ask` that answers nothing."""

    label = "nobody"

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """A failure for each call."""
        return [Answer(call.key, failure="not asked") for call in calls]


class Take:
    """Asks the same once more: the requests differ in their sample alone."""

    def __init__(self, ask: Ask, take: int) -> None:
        self._ask, self._take, self.label = ask, take, ask.label

    async def __call__(self, calls: Sequence[Call]) -> list[Answer]:
        """Answer the calls with another sample index."""
        return await self._ask([replace(call, sample=self._take) for call in calls])


async def judge_claims(evaluator: Evaluator, cases: pd.DataFrame) -> Rows:
    """Verdicts on claims (CASES), those that only fill a call included."""
    calls, questions = _questions(cases)
    return _said(calls, [found.judgements for found in await evaluator(questions)])


async def ground_claims(ask: Ask, cases: pd.DataFrame, claims_a_call: int) -> Rows:
    """Verdicts on the same claims, judged as those of an output whose source is the text."""
    calls, questions = _questions(cases)
    found = await ground(ask, questions, claims_a_call)
    judged = [[None if one is None else one == "supported" for one in own.verdicts] for own in found]
    named = {"metric": "grounding"}
    return [
        {**row, **named, **{name: f"g{row[name]}" for name in ("unit", "id", "call")}} for row in _said(calls, judged)
    ]


def _questions(cases: pd.DataFrame) -> tuple[list[pd.DataFrame], list[Question]]:
    calls = [group for _, group in cases.groupby("call", sort=False)]
    return calls, [Question(one["call"].iloc[0], one["premise"].iloc[0], tuple(one["text"])) for one in calls]


def _said(calls: Sequence[pd.DataFrame], judged: Sequence[Sequence[Judgement]]) -> Rows:
    """The cases of each call with what was judged of them, and their place in it."""
    return [
        {**row, "value": None if one is None else float(one), "item": str(place)}
        for call, own in zip(calls, judged, strict=True)
        for place, (row, one) in enumerate(zip(call.to_dict("records"), own, strict=True))
    ]


async def judge_omissions(ask: Ask, texts: Mapping[str, str], *, removed: int, seed: int) -> Rows:
    """Verdicts on facts of texts without some of their sentences, and without a part of one."""
    taken_out, _ = await judge_planted_omissions(ask, plant_omissions(texts, removed=removed, seed=seed))
    in_part, _ = await judge_planted_omissions(ask, part_omissions(texts), PART_LEFT_OUT)
    return _numbered("o", [*taken_out, *in_part])


async def judge_citations(evaluator: Evaluator, texts: Mapping[str, str], *, seed: int) -> Rows:
    """Verdicts on statements with right, wrong, missing and superfluous citations."""
    planted = [*plant_citations(texts, seed=seed), *joint_citations(texts, seed=seed)]
    judged, _ = await judge_planted_citations(evaluator, planted)
    return _numbered("r", judged)


def _numbered(letter: str, judged: Rows) -> Rows:
    """Verdicts of one task with what was asked; its letter begins the names of its cases."""
    named = {"condition": "", "item": FIRST_PLACE, "pair": ""}
    return [
        {**row, **named, "unit": f"{letter}{at:04d}", "id": f"{letter}{at:04d}/", "call": letter + row["call"]}
        for at, row in enumerate(judged)
    ]


async def judge_answers(
    ask: Ask,
    prompts: pd.DataFrame,
    labels: Mapping[str, str],
    synonyms: Sequence[Sequence[str]],
    params: NoteQa,
    *,
    asked: int,
    seed: int,
) -> Rows:
    """Verdicts on whether answers to ``asked`` questions about patients are right; the truth is the records'.

    ``labels`` and ``synonyms`` are the domain's, which must be in use.
    """
    patients = simulated_patients(prompts, *gold_tables(write_gold(prompts)), params, seed=seed)
    questions, wordings = truth_questions(prompts, patients, typed([], SPANS), params, labels, synonyms, seed=seed)
    planted = planted_answers(questions, wordings, asked, free_text=params.free_text, seed=seed)
    if params.free_text:
        planted = pd.concat([planted, further_answers(planted, questions, seed=seed)], ignore_index=True)
    judged, _ = await judge_outputs(planted, questions, 1, ask)
    verdicts = judged["value"].astype(object).map({1.0: True, 0.0: False}).where(judged["value"].notna(), None)
    about, rows = questions.set_index("question").to_dict("index"), []
    for number, (row, found) in enumerate(zip(planted.to_dict("records"), verdicts, strict=True)):
        question, kind = about[row["question"]], f"{row['form'].replace('_', ' ')}: {row['variant']}"
        right = dict(zip("ABCDE", json.loads(question["choices"]), strict=False))[question["answer"]]
        premise = f"{question['wording']}\nRight answer: {question['answer']}: {right}"
        claim = f"{question['wording']} {row['output']}"
        rows.append(case_row(f"a{number:04d}", "answers", kind, row["question"], premise, claim, row["right"], found))
    return rows


async def judge_consistency(ask: Ask, prompts: pd.DataFrame, *, each: int, seed: int) -> Rows:
    """Verdicts on whether notes contradict the records that they were written for; the domain must be in use."""
    planted = plant_inconsistent(prompts, each=each, rounds=2, seed=seed)
    planted = planted[planted["check"] == "consistency"]
    judged, _ = await check_cases(planted, ask)
    about = planted.set_index("record")
    rows = []
    for row in judged.to_dict("records"):
        number = int(row["document"])
        name, note = f"k{number:04d}", about.loc[number]
        said, shown = None if pd.isna(row["value"]) else bool(row["value"]), (note["instructions"], note["note"])
        rows.append(case_row(name, "consistency", row["kind"], name, *shown, bool(row["truth"]), said))
    return rows
