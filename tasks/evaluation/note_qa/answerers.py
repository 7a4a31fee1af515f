"""Metric rows where several systems answer the same questions (EHRNoteQA, Sections 4 and 4.1)."""

import pandas as pd
import pandera.pandas as pa

from schemas.tables.columns import typed
from tasks.evaluation.note_qa.metrics import answerer_table, missing_answers, question_rows
from tasks.evaluation.note_qa.rank_stability import mode_ranks, rank_changes, take_ranks
from tasks.statistics.metric_rows import Row, metric_row, metric_table


def named(frame: pd.DataFrame, system: str, schema: pa.DataFrameSchema) -> pd.DataFrame:
    """ANSWERS or JUDGEMENTS of one answerer as SYSTEM_ANSWERS or SYSTEM_JUDGEMENTS (``schema``), sorted by its key."""
    return typed(frame.assign(system=system), schema).sort_values(list(schema.unique or []), ignore_index=True)


def answerers_metrics(
    questions: pd.DataFrame,
    notes: pd.DataFrame,
    answers: pd.DataFrame,
    judgements: pd.DataFrame,
    unscored: pd.DataFrame,
    *,
    stage: str,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows of each system, of the ranking over takes, and of the questions.

    ``answers`` and ``judgements`` are SYSTEM_ANSWERS and SYSTEM_JUDGEMENTS. The steps of ``unscored`` end with the name
    of the system.
    """
    rows: list[Row] = []
    for (system, form, version), known in answers.groupby(["system", "form", "version"]):
        own = unscored[unscored["step"].str.endswith(f"/{system}")]
        judged = judgements[_is(judgements, system=system, form=form, version=version)]
        missing = missing_answers(own, str(form), str(version))
        shared = {"system": str(system), "condition": f"{form}/{version}", "unscored": missing}
        rows += [{**row, **shared} for row in answerer_table(known, judged, questions, seed=seed)]
    rows += _ranking_rows(judgements)
    rows += [{**row, "system": "questions", "item": "all"} for row in question_rows(questions, notes, seed)]
    return metric_table(rows, stage=stage, seed=seed, provenance=provenance)


def _is(frame: pd.DataFrame, **values: object) -> pd.Series:
    """Whether each row has these values."""
    return (frame[list(values)] == pd.Series(values)).all(axis=1)


def _ranking_rows(judgements: pd.DataFrame) -> list[Row]:
    """Each system's mode rank over takes, and the changes of rank (Section 4.1), where there are several systems."""
    rows: list[Row] = []
    for (form, version), judged in judgements.groupby(["form", "version"]):
        if judged["system"].nunique() < 2:
            continue
        ranks = take_ranks(judged.pivot_table(index="system", columns="take", values="verdict", aggfunc="mean"))
        modes, condition = mode_ranks(ranks), f"{form}/{version}"
        rows += [
            metric_row("mode_rank", rank, n=ranks.shape[1], system=str(system), condition=condition, item="all")
            for system, rank in modes.items()
        ]
        changes = rank_changes(ranks, modes)
        rows.append(
            metric_row(
                "rank_changes", changes, n=int(ranks.size), system="all systems", condition=condition, item="all"
            )
        )
    return rows
