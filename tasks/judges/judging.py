"""Asks a judge about planted cases: VERDICTS with the truth."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from tasks.judges.planted import Cases, PlantedCitation, PlantedClaim, PlantedOmission, is_gone
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row
from tasks.measures.doclens.citations import Statement, judge_citations, necessary_citations
from tasks.measures.doclens.evaluators import Evaluator, Question
from tasks.measures.doclens.subclaims import LIMITS, Limits, list_subclaims
from tasks.measures.measure import Judgement, verdict_table
from tasks.measures.med_omit.cases import Case, add_facts, find_omissions
from tasks.texts.document import WHOLE

Row = dict[str, Any]
PLANTED = "planted"
"""System and condition of planted cases: nobody's text, judged in the one way of its measure."""


def case_verdict(document: str, metric: str, kind: str, text: str, truth: bool, judged: Judgement, **asked: str) -> Row:
    """What a judge said of a case, and the right answer; `planted_table` numbers the cases of a document.

    ``asked``: further columns of CASES.
    """
    about = {"document": document, "system": PLANTED, "condition": PLANTED, "item": WHOLE, "metric": metric}
    value = None if judged is None else float(judged)
    return {**about, "kind": kind, "text": text, "truth": float(truth), "value": value, **asked}


async def judge_planted(
    ask: Ask, evaluator: Evaluator, cases: Cases, *, limits: Limits = LIMITS
) -> tuple[pd.DataFrame, Unscored]:
    """The judge's VERDICTS on all cases, and what could not be judged."""
    judged = [
        await judge_planted_claims(evaluator, cases.claims),
        await judge_planted_omissions(ask, cases.omissions),
        await judge_planted_omissions(ask, cases.left_out, ("left out by the writer", "kept by the writer")),
        await judge_planted_citations(evaluator, cases.citations),
        await judge_listing(ask, cases.omissions, limits),
    ]
    rows, unscored = ([one for part in parts for one in part] for parts in zip(*judged, strict=True))
    return planted_table(rows, ask.label), unscored


def planted_table(rows: Iterable[Row], judge: str) -> pd.DataFrame:
    """Rows as VERDICTS of one judge; the units of a document and metric are numbered."""
    seen, numbered = Counter[tuple[str, str]](), []
    for row in rows:
        key = row["document"], row["metric"]
        numbered.append({**row, "unit": str(seen[key])})
        seen[key] += 1
    return verdict_table(numbered, judge=judge)


async def judge_planted_claims(evaluator: Evaluator, planted: Sequence[PlantedClaim]) -> tuple[list[Row], Unscored]:
    """Claims of one premise form one question, in an order that does not depend on their truth."""
    groups: dict[tuple[str, str], list[PlantedClaim]] = {}
    for case in planted:
        groups.setdefault((case.document, case.premise), []).append(case)
    ordered, questions = [_ordered(cases) for cases in groups.values()], []
    for at, ((document, premise), cases) in enumerate(zip(groups, ordered, strict=True)):
        definitions = tuple(sorted({definition for case in cases for definition in case.definitions}))
        claims = tuple(case.claim for case in cases)
        questions.append(Question(f"{document}/planted/{at}", premise, claims, definitions))
    rows: list[Row] = []
    unscored: Unscored = []
    for cases, verdict in zip(ordered, await evaluator(questions), strict=True):
        for case, judged in zip(cases, verdict.judgements, strict=True):
            rows.append(case_verdict(case.document, "entailment", case.kind, case.claim, case.truth, judged))
        if verdict.failure is not None:
            unscored.append(unscored_row(cases[0].document, "planted claims", verdict.failure, verdict.raw))
    return rows, unscored


def _ordered(cases: Sequence[PlantedClaim]) -> list[PlantedClaim]:
    """Hash order, in rounds of one claim a source sentence, so that a sentence is not next to its changed twin."""
    seen: dict[str, int] = {}
    rounds = []
    for case in sorted(cases, key=lambda case: _digest(case.claim)):
        source = case.source or case.claim
        rounds.append((seen.setdefault(source, 0), _digest(source), case))
        seen[source] += 1
    return [case for _, _, case in sorted(rounds, key=lambda row: row[:2])]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def judge_planted_omissions(
    ask: Ask, planted: Sequence[PlantedOmission], kinds: tuple[str, str] = ("taken out", "left in")
) -> tuple[list[Row], Unscored]:
    """Is a fact found to be omitted just where it was taken out? ``kinds`` name the facts gone and those left."""
    cases = [
        Case(one.document, one.summary, {f"F{at}": ("medical", fact) for at, fact in enumerate(one.facts)})
        for one in planted
    ]
    found, failures = await find_omissions(ask, cases, {one.document: one.summary for one in planted})
    rows: list[Row] = []
    for one in planted:
        verdicts = found.get(one.document, {})
        for at, (fact, gone) in enumerate(one.sentences()):
            judged = verdicts[f"F{at}"] is not None if f"F{at}" in verdicts else None
            asked = {"premise": one.summary, "call": f"{kinds[0]}/{one.document}"}
            kind = kinds[0 if gone else 1]
            rows.append(case_verdict(one.document, "omissions", kind, fact, gone, judged, **asked))
    return rows, [{**row, "step": f"planted {row['step']}"} for row in failures]


async def judge_listing(
    ask: Ask, planted: Sequence[PlantedOmission], limits: Limits = LIMITS
) -> tuple[list[Row], Unscored]:
    """Do the lists of facts and of subclaims cover every sentence of the text, and none that was taken out of it?

    A sentence is covered if most of its words occur in the list; this needs no judgement.
    """
    texts = {one.document: one.summary for one in planted}
    subclaims = await list_subclaims(ask, texts, limits)
    cases = await add_facts(ask, [Case(document, text) for document, text in texts.items()])
    lists = {
        "subclaims": {key: None if found.failure else found.claims for key, found in subclaims.items()},
        "facts": {c.key: None if c.failure else tuple(text for _, text in c.facts.values()) for c in cases},
    }
    rows: list[Row] = []
    for step, listed in lists.items():
        for one in planted:
            texts_listed = listed[one.document]
            for sentence, gone in one.sentences():
                judged = None if texts_listed is None else not is_gone(sentence, " ".join(texts_listed))
                kind = "taken out" if gone else "left in"
                rows.append(case_verdict(one.document, step, kind, sentence, not gone, judged))
    unscored = [unscored_row(k, "planted subclaims", c.failure, c.raw) for k, c in subclaims.items() if c.failure]
    failed = [case.failure for case in cases if case.failure is not None]
    return rows, [*unscored, *({**row, "step": "planted facts"} for row in failed)]


async def judge_planted_citations(
    evaluator: Evaluator, planted: Sequence[PlantedCitation]
) -> tuple[list[Row], Unscored]:
    """Does the judge recognise supported statements and necessary citations?"""
    cases = {f"{one.document}/{one.kind}": one for one in planted}
    outputs = {key: [Statement(one.statement, one.citations)] for key, one in cases.items()}
    judged, failures = await judge_citations(evaluator, outputs, {key: one.source for key, one in cases.items()})
    rows: list[Row] = []
    for key, one in cases.items():
        statement = judged[key][0]
        shown = "\n".join(f"[{at}] {one.source[at]}" for at in one.citations)
        asked = {"premise": shown, "call": f"{one.document}/{one.kind}"}
        text, found = one.statement, statement.supported
        rows.append(case_verdict(one.document, "citation recall", one.kind, text, one.supported, found, **asked))
        for number, truth, found in zip(one.citations, one.necessary, necessary_citations(statement), strict=True):
            text = f"{one.statement} [{number}]"
            rows.append(case_verdict(one.document, "citation precision", one.kind, text, truth, found, **asked))
    of = "planted citations"
    return rows, [unscored_row(cases[key].document, of, reason, raw) for key, reason, raw in failures]
