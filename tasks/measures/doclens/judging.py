"""Judges the claims and citations of every system's outputs of documents: one table of judgements."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import Any

import pandas as pd

from schemas.params.measures import DocLens
from schemas.tables.verdicts import LOST, verdict_table
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row, unscored_table
from tasks.measures.doclens.citations import (
    MOST_UNITS,
    judge_citations,
    judge_citations_in_one_call,
    read_statements,
    without_citations,
)
from tasks.measures.doclens.evaluators import (
    DEGREES,
    UNKNOWN,
    Definitions,
    Evaluator,
    Question,
    Verdicts,
    condition,
    make_evaluator,
)
from tasks.measures.doclens.subclaims import Claims, incomplete, list_subclaims
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
        common=True,
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
        of=name,
        words=DEGREES,
        common=METRICS[name].common,
        label="- in degrees",
        meaning=_IN_PART.format(name.replace("_", " ")),
    )
    for name in CLAIM_METRICS
}
# --8<-- [end:metrics]
"""The claim metrics in which a claim that is found in part counts half (evaluator style ``graded``)."""
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
    evaluator, one_call = make_evaluator(params, ask), params.citations == "one_call"
    sides = [side for document in documents for side in _sides(document, plan)]
    claims, unscored = await judge_sides(ask, sides, evaluator, params)
    citations, failed = await _judge_citations(ask, evaluator, documents, plan, one_call)
    lost = lost_rows(documents, plan, plan.metrics)
    cited = f"{condition(params)}, one call" if one_call else condition(params)
    named = dict.fromkeys(CLAIM_METRICS, condition(params)) | dict.fromkeys(CITATION_METRICS, cited)
    rows = [{**row, "condition": named[row["metric"]]} for row in (*claims, *citations, *lost)]
    return {"verdicts": verdict_table(rows, judge=evaluator.label), "unscored": unscored_table([*unscored, *failed])}


async def write_and_judge(
    write: Ask, ask: Ask, documents: Sequence[Document], writers: Sequence[Writer], plan: Plan, params: DocLens
) -> Tables:
    """Have outputs written and judge all: the tables of `judge`, and the documents with all outputs (DOCUMENTS)."""
    complete, unwritten = await write_outputs(write, documents, writers)
    tables = await judge(ask, complete, plan, params)
    unscored = pd.concat([unscored_table(unwritten), tables["unscored"]], ignore_index=True)
    return {**tables, "documents": documents_table(complete), "unscored": unscored}


@dataclass(frozen=True)
class Side:
    """A text whose claims are judged against a premise; ``claims`` are those given, None if they have to be listed."""

    document: Document
    system: str
    item: str
    metric: str
    text: str
    premise: str
    claims: tuple[str, ...] | None = None
    glossary: Mapping[str, str] = field(default_factory=dict)

    @property
    def about(self) -> Row:
        """What identifies it in VERDICTS."""
        return {"document": self.document.id, "system": self.system, "item": self.item, "metric": self.metric}


def _sides(document: Document, plan: Plan) -> Iterator[Side]:
    """Each section of each output against the same section of the reference, in both directions.

    If the output lacks a section, no claim of it is recalled. If the reference lacks it, there is nothing to recall and
    no claim of the output's section is entailed.
    """
    for system, plain in plain_outputs(document, plan.citing).items():
        metrics = plan.metrics(document, system)
        for item, (reference, output) in compared_sections(document, plain, plan.sections).items():
            if item in document.lost.get(system, ()):
                continue
            given = None if document.claims is None else document.claims.get(item)
            one, other = (((text,) if text.strip() else ()) if plan.one_claim else None for text in (reference, output))
            if "claim_recall" in metrics:
                claims = one if plan.one_claim else given
                yield Side(document, system, item, "claim_recall", reference, output, claims, plan.glossary)
            if "claim_precision" in metrics:
                yield Side(document, system, item, "claim_precision", output, reference, other)


Judging = Callable[[Sequence[Question]], Awaitable[list[Verdicts]]]


async def judge_sides(
    ask: Ask, sides: Sequence[Side], judge: Judging, params: DocLens, step: str = ""
) -> tuple[list[Row], Unscored]:
    """Verdicts on the claims of each side, which the judge lists where not given; ``step``: in unscored rows."""
    keys = ["/".join(side.about.values()) for side in sides]
    named = list(zip(keys, sides, strict=True))
    texts = {key: side.text for key, side in named if side.claims is None}
    headings = {key: side.document.heading for key, side in named if side.document.heading is not None}
    listed = await list_subclaims(ask, texts, params, headings)
    known = [listed[key] if side.claims is None else Claims(side.claims) for key, side in named]
    questions = []
    for (key, side), own in zip(named, known, strict=True):
        covered = named_symptoms(own.claims, side.glossary)
        questions.append(Question(key, side.premise, own.claims, covered, side.document.heading))
    rows, unscored = list[Row](), list[dict[str, str | None]]()
    for side, own, verdicts in zip(sides, known, await judge(questions), strict=True):
        lacking, section = incomplete(own, params), "" if side.item == WHOLE else f", section {side.item}"
        for reason, raw in ((lacking, own.raw), (verdicts.failure, verdicts.raw)):
            if reason is not None:
                place = f"{step or side.metric}{section} of {side.system}"
                unscored.append(unscored_row(side.document.id, place, reason, raw))
        units = list(zip(own.claims, verdicts.units, strict=True))
        units += [] if lacking is None else [("", UNKNOWN)]
        for at, (text, (value, why, word)) in enumerate(units):
            unit = str(at) if text else LOST
            rows.append({**side.about, "unit": unit, "text": text, "value": value, "verdict": word, "reason": why})
    return rows, unscored


def named_symptoms(claims: Sequence[str], glossary: Mapping[str, str]) -> Definitions:
    """The names of the glossary that ``claims`` use, with what each covers."""
    text = " ".join(claims)
    return tuple((name, covers) for name, covers in glossary.items() if name in text)


async def _judge_citations(
    ask: Ask, evaluator: Evaluator, documents: Sequence[Document], plan: Plan, one_call: bool
) -> tuple[list[Row], Unscored]:
    """Citation recall and precision of citing systems' outputs, by the definition or with one call a statement."""
    units_of = {document.id: document.units for document in documents} if plan.citing else {}
    texts = {
        (document.id, system): [
            (section, statement)
            for section, text in split(document.outputs[system], document, plan.sections).items()
            for statement in read_statements(text, len(units_of[document.id]))
        ]
        for system in plan.citing
        for document in documents
        if system in document.outputs
    }
    statements = {key: [statement for _, statement in found] for key, found in texts.items()}
    sources = {key: units_of[key[0]] for key in texts}
    if one_call:
        judged, failures = await judge_citations_in_one_call(ask, statements, sources)
    else:
        judged, failures = await judge_citations(evaluator, statements, sources)
    rows: list[Row] = []
    for (document, system), found in texts.items():
        marks, about = count(), {"document": document, "system": system}
        for at, ((item, statement), judgement) in enumerate(zip(found, judged[document, system], strict=True)):
            units = [("citation_recall", at, statement.text, judgement[0])]
            for number, one in zip(statement.citations, judgement[1], strict=True):
                units.append(("citation_precision", next(marks), f"{statement.text} [{number}]", one))
            for metric, unit, text, value in units:
                rows.append({**about, "item": item, "metric": metric, "unit": str(unit), "text": text, "value": value})
    return rows, [unscored_row(key[0], f"citations of {key[1]}", reason, raw) for key, reason, raw in failures]


def lost_rows(
    documents: Sequence[Document], plan: Plan, metrics: Callable[[Document, str], Sequence[str]]
) -> Iterator[Row]:
    """Failed verdicts by each metric on outputs and sections that could not be written."""
    for document in documents:
        lost = {system: document.lost.get(system, ()) for system in document.outputs}
        for system in plan.expected:
            if system not in document.outputs:
                lost[system] = tuple(compared_sections(document, "", plan.sections))
        for system, items in lost.items():
            for item, metric in product(items, metrics(document, system)):
                about = {"document": document.id, "system": system, "item": item, "metric": metric}
                yield {**about, "unit": LOST, "text": "", "value": None}


def plain_outputs(document: Document, citing: Collection[str]) -> dict[str, str]:
    """A document's outputs by system, without the citation marks of systems that cite."""
    units = len(document.units) if any(system in citing for system in document.outputs) else 0
    return {
        system: without_citations(text, units) if system in citing else text
        for system, text in document.outputs.items()
    }


def plain_documents(documents: Sequence[Document], citing: Collection[str]) -> list[Document]:
    """The documents with outputs without the citation marks of systems that cite."""
    return [replace(one, outputs=plain_outputs(one, citing)) for one in documents]


def citing_systems(documents: Sequence[Document]) -> list[str]:
    """Systems that cite in any of their outputs."""
    units = {document.id: len(document.units) for document in documents}
    found = {system for one in documents for system, text in one.outputs.items() if cites(text, units[one.id])}
    return [system for system in system_names(documents) if system in found]


def cites(text: str, units: int = MOST_UNITS) -> bool:
    """Whether a text cites one of ``units`` sentences of its source."""
    return any(number < units for statement in read_statements(text, units) for number in statement.citations)
