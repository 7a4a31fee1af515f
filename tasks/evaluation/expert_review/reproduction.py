"""SimSUM's Table 4, alphas (Appendix E.2.2) and penalties (E.2.1), from the five evaluators' files."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from schemas.errors import SourceError
from schemas.tables.review import ASPECTS
from tasks.evaluation.expert_review.mean_rating import mean_ratings
from tasks.evaluation.expert_review.rater_agreement import alphas

EVALUATOR_FILES = tuple(f"simsum/evaluator_{number}.csv" for number in range(1, 6))
"""The five evaluators' files in a sources folder."""
_PENALTIES = 46.0  # Appendix E.2.1: 41 in part (iv) of type 1, and 1, 2 and 2 in the parts of type 2
_RELEASED = {
    "consistency": "consistency",
    "realism_hist": "realism_history",
    "realism_phys": "realism_physical_examination",
    "clinical_accuracy": "clinical_accuracy",
    "compact_content": "compact_content",
    "compact_readability": "compact_readability",
}
_COLUMNS = ["source", "table", "row", "column", "published", "reproduced", "tolerance", "basis", "note"]


def evaluator_files(folder: Path | None) -> list[Path]:
    """Paths of EVALUATOR_FILES in a sources folder; empty if one is missing."""
    files = [folder / name for name in EVALUATOR_FILES] if folder else []
    return files if all(file.exists() for file in files) else []


def read_evaluators(files: Sequence[Path]) -> pd.DataFrame:
    """The released ratings as RATINGS. Each file has one rater's ratings, one row per note, in the same order.

    Raises SourceError for unexpected columns, different numbers of rows, or values other than 1 to 5.
    """
    frames = []
    for file in files:
        wide = pd.read_csv(file)
        if list(wide.columns) != list(_RELEASED):
            raise SourceError(f"{file}: columns {list(wide.columns)}, expected {list(_RELEASED)}")
        if not wide.isin([1, 2, 3, 4, 5]).all(axis=None):
            raise SourceError(f"{file}: has ratings that are missing or not 1 to 5")
        long = wide.rename(columns=_RELEASED).rename_axis("record").reset_index()
        long = long.melt("record", var_name="aspect", value_name="rating")
        frames.append(long.assign(rater=file.stem, rater_kind="person", rating=long["rating"].astype("int64")))
    if len({len(frame) for frame in frames}) != 1:
        raise SourceError(f"{files[0].parent}: the evaluators' files have different numbers of notes")
    keys = ["rater", "rater_kind", "record", "aspect"]
    return pd.concat(frames)[[*keys, "rating"]].sort_values(keys, ignore_index=True)


def reproduction_rows(published: pd.DataFrame, ratings: pd.DataFrame | None, *, seed: int) -> pd.DataFrame:
    """REPRODUCTION_ROWS of Table 4 (``published``: its figures), the alphas and the penalties.

    ``ratings`` are the evaluators', or None if their files are missing; then all rows are absent. Penalties are
    computed as 5 - consistency, which is exact because no note got more than three penalties.
    """
    rows = []
    ours = _reproduced(ratings, seed) if ratings is not None else None
    for row in published.itertuples():
        given = {"mean": row.mean, "std": row.std_over_5_evaluators}
        rows += [("Table 4", row.aspect, column, float(value)) for column, value in given.items()]
        rows.append(("Appendix E.2.2", row.aspect, "krippendorff_alpha_ordinal", float(row.krippendorff_alpha_ordinal)))
    rows.append(("Appendix E.2.1", "all parts", "penalties", _PENALTIES))
    frame = pd.DataFrame(rows, columns=["table", "row", "column", "published"])
    frame["source"] = "simsum"
    frame["reproduced"] = [ours[row, column] if ours else np.nan for _, row, column, _ in rows]
    frame["tolerance"] = np.where(frame["column"] == "penalties", 0.0, 0.005)  # half a unit of the last printed digit
    frame["basis"] = "exact" if ours else "absent"
    frame["note"] = None if ours else "simsum/evaluator_1.csv to _5.csv of the released evaluation are not at hand"
    return frame[_COLUMNS].astype({"note": "str"})


def _reproduced(ratings: pd.DataFrame, seed: int) -> dict[tuple[str, str], float]:
    means = mean_ratings(ratings).set_index("aspect")
    agreement = alphas(ratings, seed=seed).set_index("aspect")
    ours: dict[tuple[str, str], float] = {}
    for aspect in ASPECTS:
        ours[aspect, "mean"] = float(means.loc[aspect, "mean"])
        ours[aspect, "std"] = float(means.loc[aspect, "std_over_raters"])
        ours[aspect, "krippendorff_alpha_ordinal"] = float(agreement.loc[aspect, "alpha"])
    consistency = ratings.loc[ratings["aspect"] == "consistency", "rating"]
    ours["all parts", "penalties"] = float((5 - consistency).sum())
    return ours
