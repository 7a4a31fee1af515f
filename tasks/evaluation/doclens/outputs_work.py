"""DocLens judgements on the outputs of any documents: claims by section, and citations of systems that cite."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from schemas.params.doclens import DocLens
from tasks.evaluation.doclens.citations import read_statements, without_citations
from tasks.evaluation.doclens.cited_outputs import Example, write_cited, write_cited_by_section
from tasks.evaluation.doclens.judging import (
    CITATION_METRICS,
    CLAIM_METRICS,
    CitedText,
    Judged,
    Pair,
    Unscored,
    join_judged,
    judge_cited_texts,
    judge_claims,
    judged_table,
    unwritten,
)
from tasks.evaluation.doclens.setup import citation_condition, claim_limits, condition, make_evaluator, writer_examples
from tasks.evaluation.documents.model import Document, system_names
from tasks.evaluation.documents.sections import Sectioning, compared_sections, reference_claims, split
from tasks.llm.calls import Ask

TEXTS = ["document", "system", "text"]
Lost = tuple[str, str, str]
"""System, document and section of a text that could not be written."""


async def judge_outputs(
    judge: Ask,
    documents: Sequence[Document],
    params: DocLens,
    *,
    how: Sectioning,
    citing: Collection[str] = (),
    written: Collection[str] = (),
    lost: Collection[Lost] = (),
    one_claim: bool = False,
) -> tuple[Judged, pd.DataFrame]:
    """Judge every system's outputs: judgements, and the judged texts (document, system, text) without citations.

    ``citing``: systems whose citations are judged. Claims of documents without a reference are not judged.
    ``written``: systems of which each document should have an output; a missing one leaves null judgements, as do the
    sections in ``lost``, which could not be written. ``one_claim``: each section counts as a single claim.
    """
    evaluator, name = make_evaluator(params, judge), condition(params)
    done, rows = [], list[tuple[str, str, str]]()
    for system in system_names(documents):
        plain = _plain(documents, system, cites=system in citing)
        rows += [(document.id, system, document.outputs[system]) for document in plain]
        pairs = section_pairs(plain, system, how, precision=True)
        if one_claim:
            pairs = [_as_one_claim(pair) for pair in pairs]
        pairs = [pair for pair in pairs if (system, pair.document, pair.item) not in lost]
        done.append(await judge_claims(judge, evaluator, pairs, condition=name, limits=claim_limits(params)))
        if system in citing:
            texts = [cited_text(document, system, how) for document in documents if system in document.outputs]
            how_cited, one_call = citation_condition(params), params.citations == "one_call"
            done.append(await judge_cited_texts(judge, evaluator, texts, condition=how_cited, one_call=one_call))
    missing = [
        (system, document.id, section)
        for system in written
        for document in documents
        if system not in document.outputs
        for section in compared_sections(document, "", how)
    ]
    referenced = {document.id for document in documents if document.reference is not None}
    for system, document, section in [*missing, *sorted(lost)]:
        claims, cites = document in referenced, system in citing
        done.append(_unwritten(system, document, section, params, claims=claims, cites=cites))
    return join_judged(done), pd.DataFrame(rows, columns=TEXTS, dtype="str")


def _unwritten(system: str, document: str, section: str, params: DocLens, *, claims: bool, cites: bool) -> Judged:
    """Null judgements of a section that could not be written."""
    found = [unwritten(document, system, condition(params), section, CLAIM_METRICS)] if claims else []
    if cites:
        found.append(unwritten(document, system, citation_condition(params), section, CITATION_METRICS))
    return Judged(pd.concat(found, ignore_index=True) if found else judged_table([]))


def _plain(documents: Iterable[Document], system: str, *, cites: bool) -> list[Document]:
    """The documents with an output of the system, without citation marks if it ``cites``."""
    having = [document for document in documents if system in document.outputs]
    if not cites:
        return having
    return [document.with_outputs({system: without_citations(document.outputs[system])}) for document in having]


def section_pairs(documents: Iterable[Document], system: str, how: Sectioning, *, precision: bool) -> list[Pair]:
    """Pair each section of a system's outputs with the same section of the reference.

    If the output lacks a section, no claim of it is recalled. If the reference lacks it, there is nothing to recall and
    no claim of the output's section is entailed. Documents without a reference or an output have no pair.
    """
    return [
        Pair(
            document.id,
            system,
            reference,
            output,
            item=section,
            reference_claims=reference_claims(document, section),
            precision=precision,
        )
        for document in documents
        if system in document.outputs and document.reference is not None
        for section, (reference, output) in compared_sections(document, document.outputs[system], how).items()
    ]


def _as_one_claim(pair: Pair) -> Pair:
    claims = [(text,) if text.strip() else () for text in (pair.reference, pair.output)]
    return replace(pair, reference_claims=claims[0], output_claims=claims[1])


def cited_text(document: Document, system: str, how: Sectioning) -> CitedText:
    """The statements of a system's output by section, with the numbered parts of the source that they cite."""
    parts = split(document.outputs[system], document, how)
    found = [(section, statement) for section, text in parts.items() for statement in read_statements(text)]
    sections, statements = tuple(section for section, _ in found), tuple(statement for _, statement in found)
    return CitedText(document.id, system, statements, document.units, sections)


def citing_systems(documents: Sequence[Document]) -> list[str]:
    """Systems that cite in any of their outputs."""
    return [
        system
        for system in system_names(documents)
        if any(cites(document.outputs[system]) for document in documents if system in document.outputs)
    ]


def cites(text: str) -> bool:
    """Whether a text has a citation."""
    return any(statement.citations for statement in read_statements(text))


async def write_outputs(
    writer: Ask, documents: Sequence[Document], prompt: str, examples: Iterable[int], **fields: str
) -> tuple[list[Document], list[str], Unscored]:
    """Have the writer write an output with citations of each document, once for each number of in-context examples.

    Returns the documents with these outputs, the names of these systems, and the failed calls. ``fields``: further
    fields of the prompt file, see `write_cited`.
    """
    systems = {writer_name(count): writer_examples(prompt, count) for count in examples}
    complete, unscored = await write_systems(writer, documents, prompt, systems, **fields)
    return complete, list(systems), unscored


async def write_systems(
    writer: Ask, documents: Sequence[Document], prompt: str, systems: Mapping[str, Sequence[Example]], **fields: str
) -> tuple[list[Document], Unscored]:
    """Have the writer write an output of each document for each system: its in-context examples by name.

    Returns the documents with these outputs, and the failed calls.
    """
    sources = {document.id: document.units for document in documents}
    unscored: Unscored = []
    written: dict[str, Mapping[str, str]] = {}
    for name, shown in systems.items():
        written[name], failed = await write_cited(writer, prompt, sources, examples=shown, **fields)
        unscored += [{**row, "step": f"{row['step']} of {name}"} for row in failed]
    return add_outputs(documents, written), unscored


def writer_name(examples: int, *, by_section: bool = False) -> str:
    """Name of the writer with so many in-context examples as a system."""
    return f"writer{' by section' if by_section else ''}, {examples} example{'' if examples == 1 else 's'}"


async def write_section_outputs(
    writer: Ask, documents: Sequence[Document], examples: Iterable[int]
) -> tuple[dict[str, dict[str, str]], list[Lost], Unscored]:
    """Have the writer write the four parts of a SOAP note of each dialogue, one call each.

    Returns the notes by system and document, the parts that could not be written, and the failed calls. A note without
    any part is absent.
    """
    sources = {document.id: document.units for document in documents}
    written: dict[str, dict[str, str]] = {}
    lost, unscored = list[Lost](), list[dict[str, str | None]]()
    for count in examples:
        name = writer_name(count, by_section=True)
        parts, failed = await write_cited_by_section(writer, sources, examples=writer_examples("cited_note", count))
        written[name] = {document: "\n\n".join(texts.values()) for document, texts in parts.items() if texts}
        lost += [(name, str(row["record"]), str(row["step"]).partition("/")[2]) for row in failed]
        unscored += [{**row, "step": f"{row['step']} of {name}"} for row in failed]
    return written, [one for one in lost if one[1] in written[one[0]]], unscored


def add_outputs(documents: Iterable[Document], written: Mapping[str, Mapping[str, str]]) -> list[Document]:
    """The documents with further outputs: text by system and document."""
    return [
        document.with_outputs({system: texts[document.id] for system, texts in written.items() if document.id in texts})
        for document in documents
    ]
