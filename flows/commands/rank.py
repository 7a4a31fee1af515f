"""Ranks several answerers by their judged scores and correlates the ranking with other scores."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from flows.engine.params import load_params
from schemas.errors import SourceError
from tasks.evaluation.note_qa.outside_ranking import ranking_correlations, with_intervals
from tasks.evaluation.note_qa.rank_stability import mode_ranks, rank_changes, take_ranks
from tasks.evaluation.note_qa.take_score import mean_and_deviation


def main(
    scores: Annotated[Path, typer.Argument(help="CSV: a column 'system', and scores of 0-100, a column per take.")],
    outside: Annotated[Path | None, typer.Option(help="CSV: a column 'system', and one or more other scores.")] = None,
) -> None:
    """Print each system's mean, deviation and rank over the takes, and its correlation with other scores.

    A row of SCORES is the row of one lineage's reports/tables/note_qa.csv, or comes from elsewhere. With OUTSIDE,
    Spearman's and Kendall's correlations are printed with 95% bootstrap intervals.
    """
    takes = _read(scores)
    print(summary(takes).to_string(float_format="%.3f"))
    ranks = take_ranks(takes)
    print(f"rank changes over takes: {rank_changes(ranks, mode_ranks(ranks))}")
    if outside is not None:
        found = correlations(takes, _read(outside), seed=load_params().seed)
        print(found.to_string(index=False, float_format="%.3f"))


def summary(takes: pd.DataFrame) -> pd.DataFrame:
    """Mean, sample deviation and gold rank of each system (rows of ``takes``; columns are takes)."""
    pairs = [mean_and_deviation(row) for row in takes.to_numpy()]
    table = pd.DataFrame(pairs, index=takes.index, columns=["mean", "std"])
    return table.assign(rank=mode_ranks(take_ranks(takes)))


def correlations(takes: pd.DataFrame, outside: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Correlations of mean scores with each outside column, over the systems in both tables.

    Raises SourceError when fewer than three systems are in both.
    """
    both = outside.join(takes.mean(axis=1).rename("score"), how="inner")
    if len(both) < 3:
        raise SourceError(f"only {len(both)} systems are in both files; a correlation needs three or more")
    return with_intervals(ranking_correlations(both, list(outside.columns)), both, seed=seed)


def _read(file: Path) -> pd.DataFrame:
    try:
        frame = pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise SourceError(f"{file}: cannot be read as CSV ({error})") from error
    if "system" not in frame or frame["system"].duplicated().any() or len(frame.columns) < 2:
        raise SourceError(f"{file}: expected a column 'system' without repeats and one or more score columns")
    scores = frame.set_index("system")
    if bad := [name for name in scores if not pd.api.types.is_numeric_dtype(scores[name]) or scores[name].isna().any()]:
        raise SourceError(f"{file}: columns {bad} have values that are not numbers")
    return scores
