"""Tables of an evaluation: metrics by system and section, scores of single documents, claims and facts."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from schemas.params.overlap import Overlap
from schemas.tables.columns import typed
from schemas.tables.evaluate import CLAIMS, DOCUMENT_SCORES, OMITTED_FACTS
from tasks.evaluation.doclens import metrics as doclens
from tasks.evaluation.documents import questions
from tasks.evaluation.documents.judging import Tables, Work, whole_outputs
from tasks.evaluation.documents.model import WHOLE, Document, system_names
from tasks.evaluation.documents.sections import compared_sections
from tasks.evaluation.med_omit import metrics as med_omit
from tasks.evaluation.med_omit.dialogues import overlap_with_omissions
from tasks.evaluation.overlap.metric_agreement import agreement_rows, omission_correlations
from tasks.evaluation.overlap.scores import part_texts, rouge
from tasks.evaluation.overlap.tables import PRECISION, RECALL, beside_claims, correlated, score_systems, system_rows
from tasks.statistics.metric_rows import COMPUTED, mean_row, metric_table
from tasks.text.soap import split_soap

RECORD_DIGITS = 15  # hexadecimal digits of a record number, which fits 63 bits


@dataclass(frozen=True)
class Setting:
    """What metric tables need besides judgements."""

    seed: int
    provenance: str
    variant: str
    overlap: Overlap


def metric_and_score_tables(
    documents: Sequence[Document], work: Work, made: Tables, setting: Setting
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """METRICS of all chosen methods, and DOCUMENT_SCORES."""
    metrics, scores = [], []
    claims = doclens.document_scores(made["judged"]) if "judged" in made else None
    if claims is not None and len(claims):
        metrics.append(doclens.metric_rows(made["judged"], seed=setting.seed, provenance=setting.provenance))
        scores.append(claims.assign(stage=doclens.STAGE))
    referenced = [document for document in documents if document.reference is not None and document.outputs]
    if "overlap" in work.metrics and referenced:
        rows, found = _overlap(referenced, work, claims, setting)
        metrics.append(rows)
        scores.append(found)
    if "facts" in made:
        rows, found = _omissions(referenced, expected_outputs(documents, work), work, made, setting)
        metrics.append(rows)
        scores.append(found)
    if "answered" in made:
        shared: dict[str, Any] = {"seed": setting.seed, "provenance": setting.provenance}
        metrics.append(questions.metric_rows(made["answered"], made["unasked"], **shared))
        scores.append(questions.score_rows(made["answered"]))
    joined = pd.concat(metrics, ignore_index=True) if metrics else metric_table([])
    return joined.sort_values(["stage", "system", "condition", "item", "metric"], ignore_index=True), _scores(scores)


def _overlap(
    documents: Sequence[Document], work: Work, claims: pd.DataFrame | None, setting: Setting
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Overlap of whole outputs and of sections with the references, and its agreement with judged scores."""
    references = {document.id: str(document.reference) for document in documents}
    texts = output_texts(documents, work.citing)
    scored, absent = score_systems(texts, references, setting.overlap)
    sections = section_rouge(documents, work)
    parts = [
        _with_unwritten(system_rows(scored, absent, stage="overlap", seed=setting.seed), len(documents), work),
        *([section_rows(sections, seed=setting.seed)] if len(sections) else []),
        agreement_rows(
            scored if claims is None else beside_claims(scored, claims),
            stage="overlap",
            condition="agreement of metrics",
            seed=setting.seed,
            provenance=setting.provenance,
            groups=[RECALL, PRECISION],
        ),
    ]
    long = scored.melt(id_vars=["document", "system"], var_name="metric").assign(item=WHOLE)
    found = pd.concat([long, sections], ignore_index=True).dropna(subset=["value"])
    found = found.assign(condition="overlap", stage="overlap")
    return pd.concat(parts, ignore_index=True), found


def _with_unwritten(rows: pd.DataFrame, documents: int, work: Work) -> pd.DataFrame:
    """The metric rows with outputs that the writer could not write as unscored."""
    written = rows["system"].isin(work.written)
    return rows.assign(unscored=rows["unscored"].where(~written, documents - rows["n"]))


def output_texts(documents: Sequence[Document], citing: Sequence[str]) -> pd.DataFrame:
    """Outputs as rows (document, system, text), sorted, without the citation marks of systems that cite."""
    rows = [
        (document.id, system, text)
        for system, texts in whole_outputs(documents, citing).items()
        for document in documents
        if (text := texts.get(document.id)) is not None
    ]
    return pd.DataFrame(rows, columns=["document", "system", "text"]).sort_values(
        ["document", "system"], ignore_index=True
    )


def section_rouge(documents: Sequence[Document], work: Work) -> pd.DataFrame:
    """ROUGE by section: document, system, item, metric, value; empty for undivided texts.

    SOAP parts are scored as by ACI-BENCH's script: two notes that both lack a part agree fully on it. Other sections
    are scored where the reference has them.
    """
    columns = ["document", "system", "item", "metric", "value"]
    if work.how == "whole":
        return pd.DataFrame(columns=columns).astype(dict.fromkeys(columns[:-1], "str") | {"value": float})
    rows, references, outputs = [], list[str](), list[str]()
    for document in documents:
        for system, text in document.outputs.items():
            for name, (reference, output) in compared_sections(document, text, work.how).items():
                if work.how == "soap":
                    (reference,), (output,) = part_texts([str(document.reference)], name), part_texts([text], name)
                if reference:
                    rows.append((document.id, system, name))
                    references.append(reference)
                    outputs.append(output)
    keys = pd.DataFrame(rows, columns=columns[:3], dtype="str")
    return pd.concat([keys, rouge(references, outputs)], axis=1).melt(id_vars=columns[:3], var_name="metric")


def section_rows(scored: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """METRICS: mean ROUGE by system and section."""
    rows = [
        mean_row(metric, group["value"], seed=seed, system=system, item=item)
        for (system, item, metric), group in scored.groupby(["system", "item", "metric"], sort=True)
    ]
    return metric_table(rows, stage="overlap", condition="overlap", provenance=COMPUTED)


def expected_outputs(documents: Sequence[Document], work: Work) -> dict[str, int]:
    """Number of documents of which each system has an output, or should have one that could not be written."""
    having = {system: sum(system in one.outputs for one in documents) for system in system_names(documents)}
    return having | dict.fromkeys(work.written, len(documents))


def _omissions(
    referenced: Sequence[Document], sizes: Mapping[str, int], work: Work, made: Tables, setting: Setting
) -> tuple[pd.DataFrame, pd.DataFrame]:
    shared: dict[str, Any] = {"seed": setting.seed, "provenance": setting.provenance, "condition": setting.variant}
    scores = med_omit.document_scores(made["facts"], made["omitted"])
    parts = [med_omit.extent_rows(made["omitted"], **shared)]
    for system, size in sizes.items():
        differences = made["differences"][made["differences"]["system"] == system]
        parts.append(med_omit.metric_rows(scores[scores["system"] == system], documents=size, **shared))
        parts.append(med_omit.difference_rows(differences, documents=size, **shared))
    references = {document.id: str(document.reference) for document in referenced}
    if work.scope == "history":
        references = {name: split_soap(text).get("subjective", "") for name, text in references.items()}
    known = scores[scores["document"].isin(references)]
    if "overlap" in work.metrics and len(known):
        overlap = overlap_with_omissions(known, made["summaries"], references, setting.overlap)
        parts.append(omission_correlations(overlap, correlated(overlap), stage=med_omit.STAGE, **shared))
    long = scores.assign(share=scores["count"] / scores["facts"]).melt(
        id_vars=["document", "system"], value_vars=["count", "weight", "share"], var_name="metric"
    )
    long["metric"] = "omission_" + long["metric"]
    long = long.assign(condition=setting.variant, item=WHOLE, stage=med_omit.STAGE)
    return pd.concat(parts, ignore_index=True), long


def _scores(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    joined = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(DOCUMENT_SCORES.columns))
    joined = joined.assign(record=[record_number(name) for name in joined["document"]])
    return typed(joined, DOCUMENT_SCORES).sort_values(list(DOCUMENT_SCORES.unique or []), ignore_index=True)


def record_number(document: str) -> int:
    """A number that identifies a document in every evaluation that has it."""
    return int(hashlib.sha256(document.encode()).hexdigest()[:RECORD_DIGITS], 16)


def claims_table(made: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Judged claims and citations with the judge's reasons (CLAIMS)."""
    keys = ["document", "system", "item", "metric", "position"]
    joined = made["judged"].merge(made["reasons"], on=keys, how="left")
    return typed(joined, CLAIMS).sort_values(list(CLAIMS.unique or []), ignore_index=True)


def omitted_facts(made: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Facts of the sources with the judgement of each system's output (OMITTED_FACTS)."""
    joined = made["omitted"].merge(made["facts"], on=["document", "fact"])
    return typed(joined, OMITTED_FACTS).sort_values(list(OMITTED_FACTS.unique or []), ignore_index=True)
