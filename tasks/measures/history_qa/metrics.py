"""The notes of visits as notes of patients, and accuracy of answers by kind, level and place of the evidence."""

from collections.abc import Iterator

import pandas as pd

from schemas.params.history import HistoryQa
from schemas.tables.columns import typed
from schemas.tables.note_qa import PATIENT_NOTES
from tasks.llm.calls import unscored_row, unscored_table
from tasks.measures.history_qa.questions import patient_name
from tasks.measures.note_qa.metrics import BY_JUDGE, BY_LETTER, missing_answers, right_letters
from tasks.measures.note_qa.patients import reduce_whitespace, token_counter
from tasks.network.visits import visit_dates
from tasks.statistics.metric_rows import Row, mean_row, metric_table

STAGE = "history_qa"


def notes_of_visits(visits: pd.DataFrame, notes: pd.DataFrame, params: HistoryQa) -> tuple[pd.DataFrame, pd.DataFrame]:
    """PATIENT_NOTES of all patients whose visits all have a note, and UNSCORED for the others.

    A patient that lacks a note is left out, as the answers follow from all visits.
    """
    count = token_counter(params.tokenizer)
    merged = visits[["record", "patient", "visit", "day"]].merge(notes[["record", "text"]], on="record", how="left")
    lacking = merged.loc[merged["text"].isna(), "patient"].unique().tolist()
    kept = merged[~merged["patient"].isin(lacking)]
    kept = kept.assign(date=visit_dates(kept), note=[reduce_whitespace(text) for text in kept["text"]])
    rows = [
        {
            "patient": patient_name(row.patient),
            "version": "normal",
            "position": row.visit - 1,
            "note_id": str(row.record),
            "date": row.date,
            "note": row.note,
            "tokens": count(row.note),
        }
        for row in kept.itertuples()
    ]
    failed = [unscored_row(patient_name(number), f"{STAGE}/notes", "a visit has no note") for number in lacking]
    return typed(rows, PATIENT_NOTES), unscored_table(failed)


def history_metrics(
    questions: pd.DataFrame,
    answers: pd.DataFrame,
    judgements: pd.DataFrame,
    unscored: pd.DataFrame,
    *,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows: the share of right answers by level, place, place within a level and, in free text, kind.

    ``accuracy`` is by the letter of a multiple-choice answer, one without a letter being unscored; ``score`` by the
    judge, in free text. Groups by place leave out unanswerable questions, which have no evidence.
    """
    rows: list[Row] = []
    judged = judgements[(judgements["form"] == "free_text") & (judgements["variant"] == "answer")]
    shares = judged.groupby(["patient", "question", "version"])["verdict"].mean().rename("right").reset_index()
    scored = {
        ("multiple_choice", "accuracy", BY_LETTER): right_letters(answers, questions),
        ("free_text", "score", BY_JUDGE): shares.merge(questions, on=["question", "patient"]),
    }
    for (form, metric, steps), right in scored.items():
        for version, known in right.groupby("version"):
            missing = missing_answers(unscored, form, str(version), steps)
            keys: Row = {"system": "answerer", "condition": f"{form}/{version}", "unscored": missing}
            for item, group in _groups(known, by_kind=form == "free_text"):
                rows.append(mean_row(metric, group["right"], clusters=group["patient"], item=item, **keys))
    return metric_table(rows, stage=STAGE, seed=seed, provenance=provenance)


def _groups(known: pd.DataFrame, *, by_kind: bool) -> Iterator[tuple[str, pd.DataFrame]]:
    """Groups by name. `note_qa_metrics` has the accuracy by kind, and the judged score by level."""
    placed = known[known["answerable"]]
    if by_kind:
        yield from ((f"kind {kind}", group) for kind, group in known.groupby("kind"))
        yield from ((f"answerable {str(flag).lower()}", group) for flag, group in known.groupby("answerable"))
    else:
        yield from ((f"level {level}", group) for level, group in known.groupby("level"))
    yield from ((f"place {place}", group) for place, group in placed.groupby("place"))
    for (level, place), group in placed.groupby(["level", "place"]):
        yield f"level {level}, place {place}", group
