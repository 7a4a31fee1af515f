"""Tables of an evaluation: metrics by system and section, scores of single documents, claims and facts, failures.

The number of documents that a system's metric is computed on, and those that it lacks, are the same in all of them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.evaluate import DOCUMENT_SCORES, EVALUATED, OMITTED_FACTS
from tasks.measures.doclens import metrics as doclens
from tasks.measures.doclens.judging import output_texts
from tasks.measures.evaluation import Plan
from tasks.measures.grounding import metrics as grounding
from tasks.measures.med_omit import metrics as med_omit
from tasks.measures.note_qa import judging as note_qa
from tasks.measures.overlap import tables as overlap
from tasks.statistics.metric_rows import metric_table
from tasks.text.soap import split_soap
from tasks.texts.document import Document, Tables

RECORD_DIGITS = 15  # hexadecimal digits of a record number, which fits 63 bits
KEY = ["stage", "system", "condition", "item", "metric"]


def evaluation_tables(
    documents: Sequence[Document], plan: Plan, made: Tables, params: Params, *, provenance: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """METRICS of all chosen methods, and DOCUMENT_SCORES.

    ``unscored`` of a metric that is a mean over documents counts those without a score.
    """
    shared: dict[str, Any] = {"seed": params.seed, "provenance": provenance}
    metrics, scores = [metric_table([])], [pd.DataFrame(columns=list(DOCUMENT_SCORES.columns))]
    claims = doclens.document_scores(made["judged"]) if "judged" in made else None
    referenced = [document for document in documents if document.reference is not None]
    if claims is not None and len(made["judged"]):
        rows = doclens.metric_rows(made["judged"], **shared)
        metrics.append(_with_lost(rows, doclens.unscored_documents(made["judged"])))
        scores.append(claims.assign(stage=doclens.STAGE))
    if "grounded" in made and len(made["grounded"]):
        rows = grounding.metric_rows(made["grounded"], **shared)
        metrics.append(_with_lost(rows, grounding.unscored_documents(made["grounded"])))
        scores.append(grounding.document_scores(made["grounded"]).assign(stage=grounding.STAGE))
    if "overlap" in plan.metrics and any(one.outputs for one in referenced):
        rows, found = _overlap(referenced, plan, claims, params, **shared)
        metrics.append(rows)
        scores.append(found)
    if "facts" in made:
        rows, found = _omissions(documents, plan, made, params, **shared)
        metrics.append(rows)
        scores.append(found)
    if "answered" in made:
        metrics.append(note_qa.metric_rows(made["answered"], made["unasked"], **shared))
        scores.append(note_qa.score_rows(made["answered"]))
    joined = pd.concat(scores, ignore_index=True)
    joined = typed(joined.assign(record=[record_number(name) for name in joined["document"]]), DOCUMENT_SCORES)
    table = pd.concat(metrics, ignore_index=True).sort_values(KEY, ignore_index=True)
    return table, joined.sort_values(list(DOCUMENT_SCORES.unique or []), ignore_index=True)


def _with_lost(rows: pd.DataFrame, lost: pd.Series) -> pd.DataFrame:
    """METRICS in which ``unscored`` of a mean counts the documents that it lacks, rather than judgements."""
    documents = lost.reindex(pd.MultiIndex.from_frame(rows[KEY[1:]]))
    return rows.assign(unscored=documents.fillna(rows["unscored"].set_axis(documents.index)).astype(int).to_numpy())


def _overlap(
    documents: Sequence[Document],
    plan: Plan,
    claims: pd.DataFrame | None,
    params: Params,
    *,
    seed: int,
    provenance: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Overlap of whole outputs and of sections with the references, and its agreement with judged scores."""
    texts = output_texts(documents, plan.citing)
    references = {document.id: str(document.reference) for document in documents}
    scored, absent = overlap.score_outputs(texts, references, params.overlap)
    whole = overlap.long_scores(scored)
    sections = overlap.section_rouge(texts, documents, plan.claims.sections)
    rows = overlap.overlap_rows(whole, absent, stage="overlap", seed=seed)
    of_systems = rows["system"].isin(plan.systems)
    together = scored if claims is None else overlap.beside_claims(scored, claims)
    shared: dict[str, Any] = {"stage": "overlap", "seed": seed, "provenance": provenance}
    parts = [
        rows.assign(unscored=rows["unscored"].where(~of_systems, len(documents) - rows["n"])),
        overlap.section_rows(sections, seed=seed),
        overlap.agreement_rows(together, condition="agreement of metrics", **shared),
    ]
    found = pd.concat([whole, sections], ignore_index=True).dropna(subset=["value"])
    return pd.concat(parts, ignore_index=True), found.assign(condition="overlap", stage="overlap")


def _omissions(
    documents: Sequence[Document], plan: Plan, made: Tables, params: Params, *, seed: int, provenance: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    variant, size = params.med_omit.variant, dict.fromkeys(plan.systems, len(documents))
    shared: dict[str, Any] = {"seed": seed, "provenance": provenance, "condition": variant}
    scores = med_omit.document_scores(made["facts"], made["omitted"])
    parts = [
        med_omit.metric_rows(scores, documents=size, **shared),
        med_omit.extent_rows(made["omitted"], **shared),
        med_omit.difference_rows(made["differences"], documents=size, **shared),
    ]
    references = {one.id: str(one.reference) for one in documents if one.reference is not None}
    if plan.omissions.scope == "history":
        references = {name: split_soap(text).get("subjective", "") for name, text in references.items()}
    known = scores[scores["document"].isin(references)]
    if "overlap" in plan.metrics and len(known):
        about = (known, made["summaries"], references, params.overlap)
        parts.append(med_omit.overlap_correlations(*about, **shared))
    return pd.concat(parts, ignore_index=True), med_omit.long_scores(scores, condition=variant)


def record_number(document: str) -> int:
    """A number that identifies a document in every evaluation that has it."""
    return int(hashlib.sha256(document.encode()).hexdigest()[:RECORD_DIGITS], 16)


def evaluated(documents: Sequence[Document]) -> pd.DataFrame:
    """EVALUATED: a hash of the source and the reference of each document."""
    rows = [{"record": record_number(one.id), "document": one.id, "content": _content(one)} for one in documents]
    return typed(rows, EVALUATED)


def _content(document: Document) -> str:
    return hashlib.sha256(json.dumps([document.source, document.reference]).encode()).hexdigest()


def omitted_facts(made: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Facts of the sources with the judgement of each system's output (OMITTED_FACTS)."""
    joined = made["omitted"].merge(made["facts"], on=["document", "fact"])
    return typed(joined, OMITTED_FACTS).sort_values(list(OMITTED_FACTS.unique or []), ignore_index=True)


def failed_documents(unscored: pd.DataFrame, systems: Sequence[str]) -> dict[str, npt.NDArray[np.int64]]:
    """Numbers of the documents with an unscored row by system; a row that names no system concerns all of them."""
    found = {}
    for system in systems:
        own = unscored[unscored["system"].eq(system) | unscored["system"].isna()]
        found[system] = np.array(sorted({record_number(name) for name in own["document"]}), dtype=np.int64)
    return found
