"""Ranks several answerers by their judged scores and correlates the ranking with other scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.runtime.params import load_params
from schemas.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd


def main(
    scores: Annotated[
        list[Path],
        typer.Argument(
            help="Metric tables of note QA (note_qa_outside.csv), or a CSV with a column 'system' and a column of "
            "scores of 0-100 per take."
        ),
    ],
    condition: Annotated[
        str, typer.Option(help="Form and version of the notes to rank by, in metric tables.")
    ] = "multiple_choice/normal",
    outside: Annotated[Path | None, typer.Option(help="CSV: a column 'system', and one or more other scores.")] = None,
) -> None:
    """Print each system's mean, deviation and rank over the takes, and its correlation with other scores.

    A metric table holds the takes of every answerer of one run; several tables compare runs. With OUTSIDE, Spearman's
    and Kendall's correlations are printed with 95% bootstrap intervals.
    """
    import pandas as pd

    from tasks.measures.note_qa.metrics import mode_ranks, rank_changes, take_ranks

    takes = pd.concat([_takes(file, condition, several=len(scores) > 1) for file in scores])
    if repeated := sorted(takes.index[takes.index.duplicated()]):
        raise SourceError(f"systems {repeated} are in more than one file")
    if takes.isna().any(axis=None):
        raise SourceError("the files have different takes; compare runs with the same note_qa.judge_takes")
    print(summary(takes).to_string(float_format="%.3f"))
    ranks = take_ranks(takes)
    print(f"rank changes over takes: {rank_changes(ranks, mode_ranks(ranks))}")
    if outside is not None:
        found = correlations(takes, _read(outside), seed=load_params().seed)
        print(found.to_string(index=False, float_format="%.3f"))


def _takes(file: Path, condition: str, *, several: bool) -> pd.DataFrame:
    """Scores of 0-100 of each system (row) in each take (column) of a file."""
    from schemas.tables.metrics import METRICS

    frame = _csv(file)
    if set(METRICS.columns) - set(frame.columns):
        return _scores(file, frame)
    chosen = frame[(frame["metric"] == "score") & frame["item"].astype(str).str.startswith("take ")]
    takes = chosen[chosen["condition"] == condition].pivot(index="system", columns="item", values="value") * 100
    if takes.empty:
        raise SourceError(f"{file}: no scores by take of {condition!r}; it has {sorted(set(chosen['condition']))}")
    return takes.rename(index=lambda name: f"{name} ({file})") if several else takes


def summary(takes: pd.DataFrame) -> pd.DataFrame:
    """Mean, sample deviation and gold rank of each system (rows of ``takes``; columns are takes)."""
    import pandas as pd

    from tasks.measures.note_qa.metrics import mean_and_deviation, mode_ranks, take_ranks

    pairs = [mean_and_deviation(row) for row in takes.to_numpy()]
    table = pd.DataFrame(pairs, index=takes.index, columns=["mean", "std"])
    return table.assign(rank=mode_ranks(take_ranks(takes)))


def correlations(takes: pd.DataFrame, outside: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Correlations of mean scores with each outside column, over the systems in both tables.

    Raises SourceError when fewer than three systems are in both.
    """
    from tasks.measures.note_qa.reproduction import ranking_correlations, with_intervals

    both = outside.join(takes.mean(axis=1).rename("score"), how="inner")
    if len(both) < 3:
        raise SourceError(f"only {len(both)} systems are in both files; a correlation needs three or more")
    return with_intervals(ranking_correlations(both, list(outside.columns)), both, seed=seed)


def _read(file: Path) -> pd.DataFrame:
    return _scores(file, _csv(file))


def _csv(file: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise SourceError(f"{file}: cannot be read as CSV ({error})") from error


def _scores(file: Path, frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    if "system" not in frame or frame["system"].duplicated().any() or len(frame.columns) < 2:
        raise SourceError(f"{file}: expected a column 'system' without repeats and one or more score columns")
    scores = frame.set_index("system")
    if bad := [name for name in scores if not pd.api.types.is_numeric_dtype(scores[name]) or scores[name].isna().any()]:
        raise SourceError(f"{file}: columns {bad} have values that are not numbers")
    return scores
