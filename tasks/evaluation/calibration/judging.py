"""Puts planted cases to the judge, step by step, as PLANTED rows."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tasks.evaluation.calibration.planted import (
    PlantedCitation,
    PlantedClaim,
    PlantedOmission,
    plant_citations,
    plant_claims,
    plant_omissions,
)
from tasks.evaluation.doclens.citation_score import necessary_citations
from tasks.evaluation.doclens.citations import Statement, judge_citations
from tasks.evaluation.doclens.claim_score import Judgement
from tasks.evaluation.doclens.evaluators import Evaluator, Question
from tasks.evaluation.med_omit.steps import Case, find_omissions
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_row

Row = tuple[str, str, str, str, bool, Judgement]  # step, kind, document, text, truth, judged
Unscored = list[dict[str, str | None]]


async def judge_planted(
    ask: Ask, evaluator: Evaluator, notes: Mapping[str, str], *, removed: int, seed: int
) -> tuple[pd.DataFrame, Unscored]:
    """All planted cases of ``notes`` with the judge's answers (PLANTED), and what could not be judged."""
    claims, first = await judge_planted_claims(evaluator, plant_claims(notes, seed=seed))
    omissions, second = await judge_planted_omissions(ask, plant_omissions(notes, removed=removed, seed=seed))
    citations, third = await judge_planted_citations(evaluator, plant_citations(notes, seed=seed))
    return planted_table([*claims, *omissions, *citations], ask.label), [*first, *second, *third]


def planted_table(rows: Sequence[Row], provenance: str) -> pd.DataFrame:
    """Rows as a PLANTED table."""
    frame = pd.DataFrame(list(rows), columns=["step", "kind", "document", "text", "truth", "judged"])
    frame.insert(0, "case", range(len(frame)))
    texts = dict.fromkeys(["step", "kind", "document", "text"], "str")
    frame = frame.astype({**texts, "case": "int64", "truth": "bool", "judged": "boolean"})
    return frame.assign(provenance=pd.Series(provenance, index=frame.index, dtype="str"))


async def judge_planted_claims(evaluator: Evaluator, planted: Sequence[PlantedClaim]) -> tuple[list[Row], Unscored]:
    """Claims of one premise go into one question, in an order that tells nothing of their truth."""
    groups: dict[tuple[str, str], list[PlantedClaim]] = {}
    for case in planted:
        groups.setdefault((case.document, case.premise), []).append(case)
    for cases in groups.values():
        cases.sort(key=lambda case: case.claim)
    questions = [
        Question(f"{document}/planted/{at}", premise, tuple(case.claim for case in cases))
        for at, ((document, premise), cases) in enumerate(groups.items())
    ]
    rows: list[Row] = []
    unscored: Unscored = []
    for cases, verdict in zip(groups.values(), await evaluator(questions), strict=True):
        for case, judged in zip(cases, verdict.judgements, strict=True):
            rows.append(("entailment", case.kind, case.document, case.claim, case.truth, judged))
        if verdict.failure is not None:
            unscored.append(unscored_row(cases[0].document, "planted claims", verdict.failure, verdict.raw))
    return rows, unscored


async def judge_planted_omissions(ask: Ask, planted: Sequence[PlantedOmission]) -> tuple[list[Row], Unscored]:
    """Is a sentence found to be omitted just where it was taken out?"""
    cases = [
        Case(one.document, one.summary, {f"F{at}": ("medical", fact) for at, fact in enumerate(one.facts)})
        for one in planted
    ]
    found, failures = await find_omissions(ask, cases, {one.document: one.summary for one in planted})
    rows: list[Row] = []
    for one in planted:
        omitted = found.get(one.document)
        for at, fact in enumerate(one.facts):
            gone = at in one.removed
            judged = None if omitted is None else f"F{at}" in omitted
            rows.append(("omissions", "taken out" if gone else "left in", one.document, fact, gone, judged))
    return rows, [unscored_row(f.key, f"planted {f.step}", f.reason, f.raw) for f in failures]


async def judge_planted_citations(
    evaluator: Evaluator, planted: Sequence[PlantedCitation]
) -> tuple[list[Row], Unscored]:
    """Does the judge tell supported statements and necessary citations?"""
    keys = [f"{one.document}/{one.kind}" for one in planted]
    outputs = {key: [Statement(one.statement, one.citations)] for key, one in zip(keys, planted, strict=True)}
    sources = {key: one.source for key, one in zip(keys, planted, strict=True)}
    judged, failures = await judge_citations(evaluator, outputs, sources)
    rows: list[Row] = []
    for key, one in zip(keys, planted, strict=True):
        statement = judged[key][0]
        rows.append(("citation recall", one.kind, one.document, one.statement, one.supported, statement.supported))
        for number, truth, found in zip(one.citations, one.necessary, necessary_citations(statement), strict=True):
            text = f"{one.statement} [{number}]"
            rows.append(("citation precision", one.kind, one.document, text, truth, found))
    return rows, [unscored_row(key.split("/")[0], "planted citations", reason, raw) for key, reason, raw in failures]
