"""Variance components of scores: how much notes, questions, raters and takes differ, estimated from a pilot.

Sums of squares of group means are equated to their expectations, for any number of rows in each group and for factors
that are crossed or nested (Henderson 1953, "Estimation of Variance and Covariance Components", method 1; Searle,
Casella and McCulloch 1992, "Variance Components", Section 5.3). On balanced data the estimates are those of the
analysis of variance. They assume no distribution. An estimate below 0 counts as 0 and is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

NOTE, QUESTION, RATER, BY_RATER, RATING, TAKE = "note", "question", "rater", "note by rater", "rating", "take"
SOURCES = (NOTE, QUESTION, RATER, BY_RATER, RATING, TAKE)
"""Sources of variance. `BY_RATER`: raters differ in their view of a note; `RATING`: of single items of a note."""
FEWEST = 2
_LARGEST_CONDITION = 1e10
Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Components:
    """Mean of scores and their variance by source, with what they were estimated from.

    ``variances``: by names of `SOURCES`, at least 0; a missing source cannot be told from the pilot. ``notes`` and
    ``n``: documents and scored rows, 0 where the components were given. ``unequal``: squared coefficient of variation
    of the rows of a note. ``negative``: estimates below 0. ``discordant``: share of notes that differ, where each
    note has one difference of right and wrong; nan otherwise. ``binary``: each note has one score, right or wrong.
    """

    mean: float
    variances: Mapping[str, float]
    notes: int = 0
    n: int = 0
    unscored: int = 0
    unequal: float = 0.0
    negative: Mapping[str, float] = field(default_factory=dict)
    discordant: float = float("nan")
    binary: bool = False

    @property
    def single(self) -> float:
        """Variance of a single judgement of a single note, without the part that all notes of a rater share."""
        return sum(value for name, value in self.variances.items() if name != RATER)

    def doubled(self, correlation: float) -> "Components":
        """Components of a difference of two systems that vary like this one, with correlated scores of a note."""
        factor = 2 * (1 - correlation)
        variances = {name: factor * value for name, value in self.variances.items()}
        return replace(self, mean=0.0, variances=variances, discordant=float("nan"), binary=False)


@dataclass(frozen=True)
class Pilot:
    """Scored rows of a pilot: ``document`` and ``score``, and maybe ``question``, ``take`` and ``rater``.

    ``unscored``: rows without a score, which are left out. ``paired``: of two systems, by `differences` or
    `deviations`.
    """

    rows: pd.DataFrame
    unscored: int = 0
    paired: bool = False

    @property
    def documents(self) -> npt.NDArray[np.str_]:
        """The documents, sorted."""
        return np.unique(self.rows["document"].to_numpy(np.str_))

    def only(self, chosen: Codes) -> "Pilot":
        """The documents at these places of `documents`."""
        return Pilot(self.rows[self.rows["document"].isin(self.documents[chosen])], self.unscored, self.paired)

    def components(self) -> Components:
        """The components. Raises ValueError for fewer than two documents and where nothing varies or can be told."""
        rows = self.rows
        sizes = rows.groupby("document").size().to_numpy(float)
        if len(sizes) < FEWEST:
            counted = "1 document" if len(sizes) == 1 else f"{len(sizes)} documents"
            raise ValueError(f"{counted} with a score; expected at least {FEWEST}, better 20 or more")
        scores = rows["score"].to_numpy(float)
        if np.ptp(scores) == 0:
            raise ValueError(f"all {len(scores)} scores are {scores[0]:g}; nothing varies that a plan could rest on")
        factors, rest = factors_of(rows)
        estimated = henderson(scores, factors, rest)
        single = len(rows) == len(sizes)
        differences = single and bool(np.isin(scores, (-1.0, 0.0, 1.0)).all())
        return Components(
            mean=float(scores.mean()),
            variances={name: max(estimated[name], 0.0) for name in SOURCES if name in estimated},
            notes=len(sizes),
            n=len(rows),
            unscored=self.unscored,
            unequal=float(sizes.var() / sizes.mean() ** 2),
            negative={name: estimated[name] for name in SOURCES if estimated.get(name, 0.0) < 0},
            discordant=float(np.abs(scores).mean()) if differences else float("nan"),
            binary=single and bool(np.isin(scores, (0.0, 1.0)).all()),
        )


def factors_of(rows: pd.DataFrame) -> tuple[dict[str, Codes], str]:
    """Group numbers (rows,) of each source whose groups have several rows, and the source that single rows differ by.

    A source that groups the rows as an earlier one does is part of it, as the question of a note with one question is.
    Rows of a note that no column tells apart are its questions, rows of a question its takes. Raises ValueError for
    several rows of a note and rater without a question.
    """
    raters = "rater" in rows and rows["rater"].nunique() > 1
    columns = {NOTE: ["document"]}
    if "question" in rows:
        columns[QUESTION] = ["document", "question"]
    if raters:
        columns |= {RATER: ["rater"], BY_RATER: ["document", "rater"]}
    factors: dict[str, Codes] = {}
    for name, keys in columns.items():
        codes = rows.groupby(keys, sort=True).ngroup().to_numpy(np.int64)
        groups = int(codes.max()) + 1
        if groups == len(rows):
            return factors, name
        if groups > 1 and not any(_alike(codes, other) for other in factors.values()):
            factors[name] = codes
    if "take" in rows and rows["take"].nunique() > 1:
        return factors, TAKE
    if raters and "question" not in rows:
        raise ValueError("raters judged a note several times; expected a column question that says which item it was")
    if raters:
        return factors, RATING
    return factors, TAKE if "question" in rows else QUESTION


def _alike(one: Codes, other: Codes) -> bool:
    together = len(np.unique(one * (other.max() + 1) + other))
    return bool(together == one.max() + 1 == other.max() + 1)


def henderson(scores: Floats, factors: Mapping[str, Codes], rest: str) -> dict[str, float]:
    """Unbiased variance components of random ``factors`` (rows,), and of single rows under the name ``rest``.

    Raises ValueError where the factors cannot be told apart.
    """
    n = len(scores)
    centred = scores - scores.mean()
    groupings = [np.zeros(n, dtype=np.int64), *factors.values(), np.arange(n)]
    left, right = np.zeros((len(groupings), len(groupings))), np.zeros(len(groupings))
    for row, groups in enumerate(groupings):
        size = np.bincount(groups).astype(float)
        right[row] = float((np.bincount(groups, weights=centred) ** 2 / size).sum())
        for column, other in enumerate(groupings):
            kinds = int(other.max()) + 1
            pairs, counts = np.unique(groups * kinds + other, return_counts=True)
            left[row, column] = float((counts**2 / size[pairs // kinds]).sum())
    if np.linalg.cond(left / n) > _LARGEST_CONDITION:
        raise ValueError(f"the variances of {', '.join((*factors, rest))} cannot be told apart; leave out a column")
    solved = np.linalg.solve(left, right)[1:]
    return dict(zip((*factors, rest), map(float, solved), strict=True))


def deviations(rows: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Scores of two systems less the mean of each, where notes of the systems are different ones.

    Their components are the mean of both systems'.
    """
    kept = rows[rows["system"].isin([first, second])]
    means = kept.groupby("system")["score"].transform("mean")
    return kept.assign(score=kept["score"] - means, document=kept["system"] + "\x1f" + kept["document"])


def differences(rows: pd.DataFrame, first: str, second: str) -> tuple[pd.DataFrame, int]:
    """Differences (second - first) of the scores of two systems on the same judgements, and how many rows lack a pair.

    Takes are paired in order of their names, since takes of two systems have nothing in common.
    """
    keys = [name for name in ("document", "question", "rater") if name in rows]
    sides = []
    for system in (first, second):
        own = rows[rows["system"] == system]
        own = own.sort_values([*keys, *(["take"] if "take" in rows else [])], kind="stable").drop(columns="system")
        sides.append(own.assign(take=own.groupby(keys).cumcount()))
    both = sides[0].merge(sides[1], on=[*keys, "take"], suffixes=("_first", "_second"))
    found = both.assign(score=both["score_second"] - both["score_first"])[[*keys, "take", "score"]]
    found = found.drop(columns=[] if "take" in rows or found["take"].max() > 0 else "take")
    return found, len(sides[0]) + len(sides[1]) - 2 * len(found)
