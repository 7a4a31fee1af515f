"""Compares several answerers: ``vignette rank SCORES.csv [--outside RANKING.csv]``.

SCORES.csv has a column ``system`` and one column for each take of judging, with scores of 0 to 100: one row from each
lineage's ``reports/tables/note_qa.csv`` or from elsewhere. Printed are each system's mean, deviation and gold rank, the
rank changes over takes, and, with RANKING.csv (``system`` and one or more score columns from outside), Spearman's and
Kendall's correlations with 95% bootstrap intervals.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from flows.engine.params import load_params
from schemas.errors import SourceError, VignetteError
from tasks.evaluation.note_qa.outside_ranking import ranking_correlations, with_intervals
from tasks.evaluation.note_qa.rank_stability import mode_ranks, rank_changes, take_ranks
from tasks.evaluation.note_qa.take_score import mean_and_deviation


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(prog="vignette rank", description=__doc__)
    parser.add_argument("scores", type=Path)
    parser.add_argument("--outside", type=Path)
    options = parser.parse_args(arguments)
    try:
        takes = _read(options.scores)
        print(summary(takes).to_string(float_format="%.3f"))
        ranks = take_ranks(takes)
        print(f"rank changes over takes: {rank_changes(ranks, mode_ranks(ranks))}")
        if options.outside:
            found = correlations(takes, _read(options.outside), seed=load_params().seed)
            print(found.to_string(index=False, float_format="%.3f"))
    except VignetteError as error:
        print(f"rank: {error}", file=sys.stderr)
        return 1
    return 0


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
        raise SourceError(f"{file}: columns {bad} have values that are no numbers")
    return scores


if __name__ == "__main__":
    sys.exit(main())
