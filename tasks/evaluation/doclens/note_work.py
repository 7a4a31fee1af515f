"""DocLens judgements on a batch of generated notes."""

from typing import Any

import pandas as pd

from schemas.params.doclens import DocLens
from tasks.evaluation.doclens.cited_outputs import write_cited
from tasks.evaluation.doclens.judging import CITATION_METRICS, Unscored, judge_cited_texts, judge_claims, unwritten
from tasks.evaluation.doclens.note_texts import cited_texts, compact_pairs, note_sentences, prompt_pairs
from tasks.evaluation.doclens.setup import citation_condition, claim_limits, condition, make_evaluator, writer_examples
from tasks.llm.calls import Ask

CITED = "cited compact notes"


async def judge_notes(
    writer: Ask, judge: Ask, notes: pd.DataFrame, compact: pd.DataFrame, prompts: pd.DataFrame, params: DocLens
) -> tuple[pd.DataFrame, pd.DataFrame, Unscored]:
    """Judge claims of compact notes and prompts, and citations: (JUDGED, CITED_OUTPUTS, unscored rows)."""
    evaluator, name = make_evaluator(params, judge), condition(params)
    how: dict[str, Any] = {"condition": name, "limits": claim_limits(params)}
    claims = await judge_claims(judge, evaluator, compact_pairs(notes, compact), **how)
    asked = await judge_claims(judge, evaluator, prompt_pairs(notes, prompts), **how)
    cited, missing = await cite_notes(writer, notes, params.writer_examples)
    one_call = params.citations == "one_call"
    texts = cited_texts(notes, cited, CITED)
    citations = await judge_cited_texts(
        judge, evaluator, texts, condition=citation_condition(params), one_call=one_call
    )
    lost = [
        unwritten(str(row["record"]), CITED, citation_condition(params), "all", CITATION_METRICS) for row in missing
    ]
    judged = pd.concat([claims.table, asked.table, citations.table, *lost], ignore_index=True)
    return judged, cited, [*claims.unscored, *asked.unscored, *missing, *citations.unscored]


async def cite_notes(writer: Ask, notes: pd.DataFrame, examples: int) -> tuple[pd.DataFrame, Unscored]:
    """Have compact notes written that cite the notes' numbered sentences: (CITED_OUTPUTS, failed calls)."""
    sources = {str(record): note_sentences(note) for record, note in zip(notes["record"], notes["note"], strict=True)}
    shown = writer_examples("cited_compact", examples)
    written, unscored = await write_cited(writer, "cited_compact", sources, examples=shown)
    rows = [(int(record), text, writer.label) for record, text in written.items()]
    frame = pd.DataFrame(rows, columns=["record", "cited", "provenance"])
    return frame.astype({"record": "int64", "cited": "str", "provenance": "str"}), unscored
