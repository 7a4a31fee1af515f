"""Judges the claims and citations of every system's outputs of documents: one table of judgements."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pandas as pd

from schemas.params.measures import DocLens
from schemas.tables.verdicts import LOST, Judgement, verdict_table
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, Asks, unscored_row, unscored_table
from tasks.measures.doclens.citations import (
    MOST_UNITS,
    Statement,
    judge_citations,
    judge_citations_in_one_call,
    necessary_citations,
    read_statements,
    without_citations,
)
from tasks.measures.doclens.evaluators import (
    DEGREES,
    Definitions,
    Evaluator,
    Question,
    citation_condition,
    condition,
    make_evaluator,
)
from tasks.measures.doclens.subclaims import Claims, Limits, incomplete, list_subclaims
from tasks.measures.doclens.writing import Writer, write_outputs
from tasks.measures.measure import Metric, Metrics
from tasks.texts.document import (
    WHOLE,
    Document,
    Sectioning,
    Tables,
    compared_sections,
    documents_table,
    split,
    system_names,
)

NAME = "doclens"
CLAIM_METRICS = ("claim_recall", "claim_precision")
"""Share of the reference's claims that the output entails, (1/|L_y|) sum of I[y' => l] (Section 3.1), and share of the
output's claims that the reference entails (Section 3.2). A text without claims has no score; an empty output recalls
none."""
CITATION_METRICS = ("citation_recall", "citation_precision")
"""Share of the output's statements that their citations together entail, and share of its citations that are necessary
(Section 3.3). A statement without citations is not supported; an output without citations has no precision."""
# --8<-- [start:metrics]
METRICS: Metrics = {
    "claim_recall": Metric(
        removal="falls",
        compared=True,
        task="claims",
        label="claim recall",
        meaning="share of the reference's claims that the output states",
    ),
    "claim_precision": Metric(
        compared=True,
        task="claims",
        label="claim precision",
        meaning="share of the output's claims that the reference states",
    ),
    "citation_recall": Metric(
        compared=True,
        task="citation recall",
        label="citation recall",
        meaning="share of the output's statements that their citations support",
    ),
    "citation_precision": Metric(
        compared=True,
        task="citation precision",
        label="citation precision",
        meaning="share of citations that are needed for their statement",
    ),
}
_IN_PART = "{} in which a claim that is found in part counts half"
GRADED: Metrics = {
    f"{name}_graded": Metric(
        of=name, words=DEGREES, label="- in degrees", meaning=_IN_PART.format(name.replace("_", " "))
    )
    for name in CLAIM_METRICS
}
# --8<-- [end:metrics]
"""The claim metrics in which a claim that is found in part counts half (evaluator style ``graded``)."""
_WORDS = {degree: word for word, degree in DEGREES.items()}
Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is judged of the outputs.

    ``citing``: systems whose citations are judged; their claims are judged without the marks. ``claimed``: systems
    whose claims are judged, None for all. ``expected``: systems of which every document should have an output. Without
    ``precision``, outputs may say more than the reference. ``one_claim``: each section counts as a single claim.
    ``glossary``: what names in the reference's claims cover, where these are a domain's names.
    """

    sections: Sectioning = "whole"
    citing: Collection[str] = ()
    claimed: Collection[str] | None = None
    expected: Collection[str] = ()
    precision: bool = True
    one_claim: bool = False
    glossary: Mapping[str, str] = field(default_factory=dict)

    def metrics(self, document: Document, system: str) -> tuple[str, ...]:
        """What is judged of a system's output; claims of documents without a reference are not."""
        claimed = document.reference is not None and (self.claimed is None or system in self.claimed)
        claims = CLAIM_METRICS if self.precision else CLAIM_METRICS[:1]
        return (*(claims if claimed else ()), *(CITATION_METRICS if system in self.citing else ()))


async def judge(ask: Ask, documents: Sequence[Document], plan: Plan, params: DocLens) -> Tables:
    """Judge every system's outputs: the tables verdicts (VERDICTS) and unscored (UNSCORED).

    A text whose claims could not be listed, or has more of them than ``params`` allow, leaves one failed verdict and an
    unscored row; an output or section that could not be written leaves a failed verdict for each metric.
    """
    evaluator, limits = make_evaluator(params, ask), Limits.of(params)
    claims, unscored = await _judge_claims(ask, evaluator, documents, plan, limits)
    citations, failed = await _judge_citations(ask, evaluator, documents, plan, params.citations == "one_call")
    named = {metric: condition(params) for metric in CLAIM_METRICS}
    named |= {metric: citation_condition(params) for metric in CITATION_METRICS}
    rows = [*claims, *citations, *_lost_rows(documents, plan)]
    verdicts = verdict_table([{**row, "condition": named[row["metric"]]} for row in rows], judge=evaluator.label)
    return {"verdicts": verdicts, "unscored": unscored_table([*unscored, *failed])}


@dataclass(frozen=True)
class DocLensMeasure:
    """The measure: claims of outputs and references against each other, and citations against the source."""

    plan: Plan
    params: DocLens
    name: str = NAME

    @property
    def metrics(self) -> Metrics:
        """Its metrics, and those in degrees where the judge grades."""
        graded = self.params.evaluator == "instruction" and self.params.style == "graded"
        return {**METRICS, **(GRADED if graded else {})}

    async def judge(self, ask: Asks, documents: Sequence[Document]) -> Tables:
        """As `judge`."""
        return await judge(ask("judge"), documents, self.plan, self.params)


async def write_and_judge(
    write: Ask, ask: Ask, documents: Sequence[Document], writers: Sequence[Writer], plan: Plan, params: DocLens
) -> Tables:
    """Have outputs written and judge all: the tables of `judge`, and the documents with all outputs (DOCUMENTS)."""
    complete, unwritten = await write_outputs(write, documents, writers)
    tables = await judge(ask, complete, plan, params)
    unscored = pd.concat([unscored_table(unwritten), tables["unscored"]], ignore_index=True)
    return {**tables, "documents": documents_table(complete), "unscored": unscored}


def _row(
    document: str,
    system: str,
    item: str,
    metric: str,
    at: int | str,
    text: str,
    judged: Judgement,
    reason: str | None = None,
    degree: float | None = None,
) -> Row:
    named = {"document": document, "system": system, "item": item, "metric": metric}
    said = {"value": None if judged is None else float(judged), "verdict": None if degree is None else _WORDS[degree]}
    return {**named, "unit": str(at), "text": text, **said, "reason": reason}


@dataclass(frozen=True)
class Side:
    """A text whose claims are judged against a premise; ``claims`` are those given, None if they have to be listed."""

    document: str
    system: str
    item: str
    metric: str
    text: str
    premise: str
    claims: tuple[str, ...] | None = None
    heading: str | None = None

    @property
    def key(self) -> str:
        return f"{self.document}/{self.system}/{self.item}/{self.metric}"


def _sides(document: Document, plan: Plan) -> Iterator[Side]:
    """Each section of each output against the same section of the reference, in both directions.

    If the output lacks a section, no claim of it is recalled. If the reference lacks it, there is nothing to recall and
    no claim of the output's section is entailed.
    """
    texts = plain_outputs(document, plan.citing)
    for system, plain in texts.items():
        metrics = plan.metrics(document, system)
        for item, (reference, output) in compared_sections(document, plain, plan.sections).items():
            if item in document.lost.get(system, ()):
                continue
            given = None if document.claims is None else document.claims.get(item)
            if "claim_recall" in metrics:
                claims = _one(reference) if plan.one_claim else given
                yield Side(document.id, system, item, "claim_recall", reference, output, claims, document.heading)
            if "claim_precision" in metrics:
                claims = _one(output) if plan.one_claim else None
                yield Side(document.id, system, item, "claim_precision", output, reference, claims, document.heading)


def _one(text: str) -> tuple[str, ...]:
    return (text,) if text.strip() else ()


async def _judge_claims(
    ask: Ask, evaluator: Evaluator, documents: Sequence[Document], plan: Plan, limits: Limits
) -> tuple[list[Row], Unscored]:
    sides = [side for document in documents for side in _sides(document, plan)]
    known = await claims_of(ask, sides, limits)
    questions = []
    for side, claims in zip(sides, known, strict=True):
        named = named_symptoms(claims.claims, plan.glossary) if side.metric == "claim_recall" else ()
        questions.append(Question(side.key, side.premise, claims.claims, named, side.heading))
    rows: list[Row] = []
    unscored: Unscored = []
    for side, claims, verdict in zip(sides, known, await evaluator(questions), strict=True):
        lacking = incomplete(claims, limits)
        unscored += failed_rows(side, side.metric, (lacking, claims.raw), (verdict.failure, verdict.raw))
        texts, judgements = claims.claims, verdict.judgements
        none = (None,) * len(texts)
        reasons, degrees = verdict.reasons or none, verdict.degrees or none
        if lacking is not None:
            texts, judgements, reasons, degrees = (*texts, ""), (*judgements, None), (*reasons, None), (*degrees, None)
        for at, found in enumerate(zip(texts, judgements, reasons, degrees, strict=True)):
            rows.append(_row(side.document, side.system, side.item, side.metric, at, *found))
    return rows, unscored


async def claims_of(ask: Ask, sides: Sequence[Side], limits: Limits) -> list[Claims]:
    """The claims of each side: those that are given, otherwise as the judge lists them."""
    headings = {side.key: side.heading for side in sides if side.heading is not None}
    listed = await list_subclaims(ask, {side.key: side.text for side in sides if side.claims is None}, limits, headings)
    return [listed[side.key] if side.claims is None else Claims(side.claims) for side in sides]


def failed_rows(side: Side, what: str, *failures: tuple[str | None, str | None]) -> Unscored:
    """A row of UNSCORED for each failure (reason and raw reply; no reason where nothing failed) to judge a side."""
    step = what if side.item == WHOLE else f"{what}, section {side.item}"
    found = [(reason, raw) for reason, raw in failures if reason is not None]
    return [unscored_row(side.document, f"{step} of {side.system}", reason, raw) for reason, raw in found]


def named_symptoms(claims: Sequence[str], glossary: Mapping[str, str]) -> Definitions:
    """The names of the glossary that ``claims`` use, with what each covers."""
    text = " ".join(claims)
    return tuple((name, covers) for name, covers in glossary.items() if name in text)


async def _judge_citations(
    ask: Ask, evaluator: Evaluator, documents: Sequence[Document], plan: Plan, one_call: bool
) -> tuple[list[Row], Unscored]:
    """Citation recall and precision of citing systems' outputs, by the definition or with one call a statement."""
    texts = {
        (document.id, system): _cited(document, system, plan.sections)
        for system in plan.citing
        for document in documents
        if system in document.outputs
    }
    statements = {key: [statement for _, statement in found] for key, found in texts.items()}
    units = {document.id: document.units for document in documents} if texts else {}
    sources = {key: units[key[0]] for key in texts}
    if one_call:
        judged, failures = await judge_citations_in_one_call(ask, statements, sources)
    else:
        defined, failures = await judge_citations(evaluator, statements, sources)
        judged = {key: [(one.supported, necessary_citations(one)) for one in found] for key, found in defined.items()}
    rows: list[Row] = []
    for (document, system), found in texts.items():
        marks = count()
        for at, ((item, statement), judgement) in enumerate(zip(found, judged[document, system], strict=True)):
            supported, necessary = judgement
            rows.append(_row(document, system, item, "citation_recall", at, statement.text, supported))
            for number, one in zip(statement.citations, necessary, strict=True):
                text = f"{statement.text} [{number}]"
                rows.append(_row(document, system, item, "citation_precision", next(marks), text, one))
    return rows, [unscored_row(key[0], f"citations of {key[1]}", reason, raw) for key, reason, raw in failures]


def _cited(document: Document, system: str, how: Sectioning) -> list[tuple[str, Statement]]:
    """The statements of a system's output, each with its section."""
    parts, units = split(document.outputs[system], document, how), len(document.units)
    return [(section, statement) for section, text in parts.items() for statement in read_statements(text, units)]


def _lost_rows(documents: Sequence[Document], plan: Plan) -> Iterator[Row]:
    """Failed verdicts on outputs and sections that could not be written."""
    by_id = {document.id: document for document in documents}
    for document, system, item in lost_sections(documents, plan):
        for metric in plan.metrics(by_id[document], system):
            yield _row(document, system, item, metric, LOST, "", None)


def lost_sections(documents: Sequence[Document], plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Document, system and section of all outputs and sections that could not be written."""
    for document in documents:
        lost = {system: document.lost.get(system, ()) for system in document.outputs}
        for system in plan.expected:
            if system not in document.outputs:
                lost[system] = tuple(compared_sections(document, "", plan.sections))
        for system, sections in lost.items():
            for item in sections:
                yield document.id, system, item


def output_texts(documents: Sequence[Document], citing: Collection[str]) -> dict[str, dict[str, str]]:
    """Outputs by system and document, without the citation marks of systems that cite."""
    found: dict[str, dict[str, str]] = {}
    for document in documents:
        for system, text in plain_outputs(document, citing).items():
            found.setdefault(system, {})[document.id] = text
    return found


def plain_outputs(document: Document, citing: Collection[str]) -> dict[str, str]:
    """A document's outputs by system, without the citation marks of systems that cite."""
    units = len(document.units) if any(system in citing for system in document.outputs) else 0
    return {
        system: without_citations(text, units) if system in citing else text
        for system, text in document.outputs.items()
    }


def plain_documents(documents: Sequence[Document], citing: Collection[str]) -> list[Document]:
    """The documents with outputs without the citation marks of systems that cite."""
    texts = output_texts(documents, citing)
    return [replace(one, outputs={name: texts[name][one.id] for name in one.outputs}) for one in documents]


def citing_systems(documents: Sequence[Document]) -> list[str]:
    """Systems that cite in any of their outputs."""
    units = {document.id: len(document.units) for document in documents}
    found = {system for one in documents for system, text in one.outputs.items() if cites(text, units[one.id])}
    return [system for system in system_names(documents) if system in found]


def cites(text: str, units: int = MOST_UNITS) -> bool:
    """Whether a text cites one of ``units`` sentences of its source."""
    return any(number < units for statement in read_statements(text, units) for number in statement.citations)
