"""The schema of each table that a stage reads or writes, by the stem of its file.

Metric tables have one schema for all stems and are read and written by methods of their own; the columns of ``records``
and ``visits`` come from the domain's network (`schemas.tables.records.BY_NETWORK`).
"""

import pandera.pandas as pa

from schemas.errors import TableError
from schemas.tables import baselines, evaluate, evaluation, metrics, note_qa, people, records, verdicts, visits
from schemas.tables.stems import entry_of

TABLES: dict[str, pa.DataFrameSchema] = {
    # records, notes and spans
    "prompts": records.PROMPTS,
    "first_notes": records.FIRST_NOTES,
    "attempts": records.ATTEMPTS,
    "notes": records.NOTES,
    "compact_notes": records.COMPACT_NOTES,
    "spans": records.SPANS,
    # baselines
    "split": baselines.SPLIT,
    "note_sentences": baselines.NOTE_SENTENCES,
    "span_vectors": baselines.SPAN_VECTORS,
    "tuned": baselines.TUNED,
    "predictions_*": baselines.PREDICTIONS,
    "baselines_reliability": baselines.RELIABILITY,
    # judged texts
    "*_judged": verdicts.VERDICTS,
    "cited_compact": evaluation.CITED_OUTPUTS,
    "recorded_claims": verdicts.VERDICTS,
    # questions over notes
    "patient_notes": note_qa.PATIENT_NOTES,
    "generated_questions": note_qa.QUESTIONS,
    "questions": note_qa.QUESTIONS,
    "written_questions": note_qa.QUESTIONS,
    # patients over several visits
    "visit_notes": visits.VISIT_NOTES,
    "history_facts": visits.HISTORY_FACTS,
    "history_questions": visits.HISTORY_QUESTIONS,
    "history_summaries": visits.HISTORY_SUMMARIES,
    "summary_truth": visits.SUMMARY_TRUTH,
    "facts_stated": verdicts.VERDICTS,
    "statements_checked": verdicts.VERDICTS,
    # judges and people
    "planted_claims": verdicts.VERDICTS,
    "claims_by_judge": verdicts.VERDICTS,
    "planted_cases": evaluation.PLANTED_CASES,
    "planted_verdicts": verdicts.VERDICTS,
    "assertion_cases": verdicts.VERDICTS,
    "review_notes": people.REVIEW_NOTES,
    "ratings": verdicts.VERDICTS,
    "span_review_notes": people.SPAN_REVIEW_NOTES,
    "preference_pairs": people.PREFERENCE_PAIRS,
    "*_labels": verdicts.VERDICTS,
    # a user's own documents
    "document_scores": evaluate.DOCUMENT_SCORES,
    "comparisons": evaluate.SYSTEM_COMPARISONS,
    "evaluated": evaluate.EVALUATED,
    "reproduction": metrics.REPRODUCTION,
    # every stage
    "*_scores": metrics.SCORES,
    "unscored_evaluation": evaluate.UNSCORED_OUTPUTS,
    "unscored_*": metrics.UNSCORED,
    "planted_unscored": metrics.UNSCORED,
    "evaluate/metrics": metrics.METRICS,
    "evaluate/judge": metrics.METRICS,
    "evaluate/*": verdicts.VERDICTS,  # units that a measure judged
}
"""By stem or pattern of stems, the first that fits; a stem of one stage only has the stage's name before it."""


def schema_of(stem: str, stage: str = "") -> pa.DataFrameSchema:
    """The schema of the table with that stem, see `entry_of`. Raises TableError for a stem without a schema."""
    entry = entry_of(stem, stage, TABLES)
    if entry is None:
        raise TableError(f"no schema for table {stem}; add its stem to schemas/tables/registry.py")
    return TABLES[entry]
