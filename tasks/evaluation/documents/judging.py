"""Judges the outputs of documents by the chosen methods, on a batch of documents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from schemas.params.doclens import DocLens
from schemas.params.llm import RoleName
from schemas.params.med_omit import MedOmit
from tasks.evaluation.doclens.citations import without_citations
from tasks.evaluation.doclens.judging import REASONS, Judged
from tasks.evaluation.doclens.outputs_work import (
    TEXTS,
    Lost,
    add_outputs,
    judge_outputs,
    write_outputs,
    write_section_outputs,
    writer_name,
)
from tasks.evaluation.documents.model import Document
from tasks.evaluation.documents.sections import Sectioning
from tasks.evaluation.med_omit.diagnosis_names import Encode
from tasks.evaluation.med_omit.dialogues import judge_summaries, subjective_parts, truncate_dialogues
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table

Scope = Literal["whole", "history"]
Tables = dict[str, pd.DataFrame]
Asks = Callable[[RoleName], Ask]


@dataclass(frozen=True)
class Work:
    """What is judged: the methods, the division into sections, the systems whose citations are judged.

    ``scope``: whether MED-OMIT looks at whole texts, or at the history of a dialogue and the subjective section of
    outputs (the paper's setting). ``write``: numbers of in-context examples with which the writer makes outputs too, by
    the prompt file ``prompt``, of whole texts or by section (``write_by``). ``written``: the names of these systems.
    """

    metrics: Sequence[str]
    how: Sectioning
    scope: Scope
    citing: Sequence[str] = ()
    write: Sequence[int] = ()
    prompt: str = "cited_compact"
    write_by: Sequence[str] = ("whole",)
    written: Sequence[str] = ()


def writer_prompt(documents: Sequence[Document], layout: str) -> str:
    """The writer's prompt file for documents of a layout: a question, an impression, a dialogue's note or a summary."""
    known = {"meqsum": "cited_question", "radiology": "cited_impression"}
    dialogues = sum(document.is_dialogue for document in documents)
    return known.get(layout) or ("cited_note" if dialogues > len(documents) / 2 else "cited_compact")


async def write_documents(
    writer: Ask, documents: Sequence[Document], work: Work
) -> tuple[list[Document], list[Lost], pd.DataFrame]:
    """The documents with the writer's cited outputs, the sections that could not be written, and unscored rows."""
    fields = {"section": "full"} if work.prompt == "cited_note" else {}
    lost, unscored = list[Lost](), list[dict[str, str | None]]()
    written = list(documents)
    if "whole" in work.write_by:
        written, _, unscored = await write_outputs(writer, documents, work.prompt, work.write, **fields)
    if "section" in work.write_by:
        parts, lost, failed = await write_section_outputs(writer, documents, work.write)
        written, unscored = add_outputs(written, parts), [*unscored, *failed]
    return written, lost, unscored_table(unscored)


def writer_names(examples: Sequence[int], write_by: Sequence[str]) -> list[str]:
    """Names of the systems that the writer's outputs belong to."""
    return [writer_name(count, by_section=by == "section") for by in write_by for count in examples]


async def judge_claims_and_citations(
    judge: Ask, documents: Sequence[Document], params: DocLens, work: Work, lost: Sequence[Lost] = ()
) -> Tables:
    """DocLens: tables judged (JUDGED), reasons, texts and unscored."""
    found, texts = await judge_outputs(
        judge, documents, params, how=work.how, citing=work.citing, written=work.written, lost=lost
    )
    return _doclens_tables(found, texts)


def _doclens_tables(found: Judged, texts: pd.DataFrame) -> Tables:
    return {
        "judged": found.table,
        "reasons": found.reasons[REASONS],
        "texts": texts[TEXTS],
        "unscored": unscored_table(found.unscored),
    }


async def judge_omitted_facts(
    judge: Ask, documents: Sequence[Document], params: MedOmit, work: Work, encode: Encode
) -> Tables:
    """MED-OMIT: tables facts, omitted, differences, differentials, summaries and unscored."""
    sources = {document.id: document.text for document in documents}
    failed: list[dict[str, str | None]] = []
    if work.scope == "history":
        sources, failed = await truncate_dialogues(judge, sources)
        summaries = subjective_parts(documents, sources)
    else:
        summaries = whole_outputs(documents, work.citing)
    tables, unscored = await judge_summaries(judge, sources, summaries, params, encode)
    return {**tables, "unscored": unscored_table([*failed, *unscored])}


def whole_outputs(documents: Sequence[Document], citing: Sequence[str]) -> dict[str, dict[str, str]]:
    """Outputs by system and document, without the citation marks of systems that cite."""
    found: dict[str, dict[str, str]] = {}
    for document in documents:
        for system, text in document.outputs.items():
            found.setdefault(system, {})[document.id] = without_citations(text) if system in citing else text
    return found
