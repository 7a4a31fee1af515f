"""DocLens judgements on ACI-BENCH: published outputs by section, and the writer's cited notes."""

from collections.abc import Sequence

import pandas as pd

from schemas.params.doclens import DocLens
from tasks.evaluation.doclens.cited_outputs import write_cited, write_cited_by_section
from tasks.evaluation.doclens.evaluators import EmbeddedEvaluator, Question
from tasks.evaluation.doclens.judging import Judged, Pair, Unscored, judged_table
from tasks.evaluation.doclens.outputs_work import add_outputs, judge_outputs, section_pairs
from tasks.evaluation.doclens.setup import writer_examples
from tasks.evaluation.documents.model import Document, system_names
from tasks.llm.calls import Ask
from tasks.text.soap import PARTS, split_soap

WRITERS = ("writer (full)", "writer (section)")


async def judge_system(
    writer: Ask, judge: Ask, documents: Sequence[Document], params: DocLens
) -> tuple[Judged, pd.DataFrame, Unscored]:
    """Judge every system and the writer's cited notes, as `judge_outputs`; also returns the writer's failed calls."""
    written, unwritten = await write_notes(writer, documents, params)
    outputs = add_outputs(documents, written)
    parts = [(str(row["record"]), str(row["step"]).partition("/")[2]) for row in unwritten]
    lost = {(WRITERS[1], document, part) for document, part in parts if part}
    judged, texts = await judge_outputs(judge, outputs, params, how="soap", citing=WRITERS, written=WRITERS, lost=lost)
    return judged, texts, unwritten


async def write_notes(
    writer: Ask, documents: Sequence[Document], params: DocLens
) -> tuple[dict[str, dict[str, str]], Unscored]:
    """Have cited notes of the dialogues written, whole and by section; returns them by system and document."""
    sources = {document.id: document.units for document in documents}
    examples = writer_examples("cited_note", params.writer_examples)
    full, unscored = await write_cited(writer, "cited_note", sources, examples=examples, section="full")
    sections, more = await write_cited_by_section(writer, sources, examples=examples)
    joined = {name: "\n\n".join(parts.values()) for name, parts in sections.items()}
    return {WRITERS[0]: full, WRITERS[1]: joined}, [*unscored, *more]


async def embedded_recalls(documents: Sequence[Document]) -> pd.DataFrame:
    """Claim recall judgements (JUDGED) of all outputs on the documents' own claims by the simulator's rules."""
    evaluator = EmbeddedEvaluator()
    rows: list[tuple[object, ...]] = []
    for system in system_names(documents):
        pairs = section_pairs(documents, system, "soap", precision=False)
        claims = [pair.reference_claims or () for pair in pairs]
        questions = [Question(pair.key, pair.output, given) for pair, given in zip(pairs, claims, strict=True)]
        for pair, verdict in zip(pairs, await evaluator(questions), strict=True):
            rows += _recall_rows(pair, evaluator.label, verdict.judgements)
    return judged_table(rows)


def _recall_rows(pair: Pair, label: str, judgements: tuple[bool | None, ...]) -> list[tuple[object, ...]]:
    claims = pair.reference_claims or ()
    start = (pair.document, pair.system, label, pair.item, "claim_recall")
    return [(*start, at, claim, judged) for at, (claim, judged) in enumerate(zip(claims, judgements, strict=True))]


def present_shares(documents: Sequence[Document]) -> dict[tuple[str, str], float]:
    """Share of references with claims in a part whose output has that part, by (system, part)."""
    found = {}
    for system in system_names(documents):
        parts = {document.id: split_soap(document.outputs[system]) for document in documents}
        for part in PARTS:
            asked = [document.id for document in documents if (document.claims or {})[part]]
            found[system, part] = sum(part in parts[name] for name in asked) / len(asked)
    return found
