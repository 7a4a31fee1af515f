"""What a study of more documents would find: the scores of a pilot, resampled through our own interval and test.

Each study draws n documents from what the pilot's documents may stand for: they have random weights that sum to 1
(Rubin 1981, "The Bayesian Bootstrap"), drawn anew for each study. So the power is an expectation over what a small
pilot leaves open (assurance: O'Hagan, Stevens and Campbell 2005), and not that of the difference which the pilot
happened to have, which promises too much. Scores of one document stay together, so ties, skew and clusters are those of
the pilot. Weights shrink the variance between m documents by (m - 1) / (m + 1); studies are smaller by this share.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from schemas.tables.metrics import METRICS
from tasks.progress import progress
from tasks.statistics.intervals import mean_interval
from tasks.statistics.sign_flips import FEWEST, LEVEL
from tasks.tracking.comparison import compare_systems
from tasks.tracking.measures import ANY, Measure

STUDIES = 100
"""Studies of each size: a power of 80% is known to within 8 points."""
DRAWS = 500
"""Sign flips of each test."""


def half_widths(scores: pd.DataFrame, sizes: Sequence[int], *, seed: int, studies: int = STUDIES) -> pd.DataFrame:
    """Mean half width of the 95% interval of each system's mean, by number of documents.

    ``scores``: DOCUMENT_SCORES of a pilot. Columns system, metric, item, documents (of the pilot), mean, and one per
    size. Documents without a score are not drawn.
    """
    rng = np.random.default_rng([seed, 1])
    rows, groups = [], scores.sort_values("document").groupby(list(Measure.KEY), sort=True)
    with progress("plan", len(groups), "mean") as count:
        for key, group in groups:
            values = group["value"].to_numpy(dtype=float)
            bounds = Measure(key, np.arange(len(values)), values).bounds
            found = {"system": key[1], "metric": key[4], "item": key[3]}
            found |= {"documents": len(values), "mean": values.mean()}
            for size in sizes:
                drawn = [values[_study(len(values), size, rng)] for _ in range(studies)]
                if np.ptp(values) == 0:  # no variance that fewer documents would make up for
                    drawn = [np.repeat(values[:1], size)]
                ends = [mean_interval(one, bounds=None if bounds == ANY else bounds) for one in drawn]
                enough = len(values) >= FEWEST
                found[str(size)] = float(np.mean([(high - low) / 2 for _, low, high in ends])) if enough else np.nan
            rows.append(found)
            count.update()
    return pd.DataFrame(rows)


def powers(scores: pd.DataFrame, sizes: Sequence[int], *, seed: int, studies: int = STUDIES) -> pd.DataFrame:
    """Share of studies of each size in which the paired test finds a difference of two systems.

    p is adjusted for all metrics and pairs of ``scores`` (DOCUMENT_SCORES), as `compare_systems` does. Columns
    system_a, system_b, metric, item, documents (scored by both in the pilot), difference (b - a), and one per size.
    """
    order = sorted(scores["system"].unique())
    about = ["system_a", "system_b", "stage", "condition", "item", "metric"]
    pilot = _compared(scores.assign(record=pd.factorize(scores["document"])[0]), order, seed).set_index(about)
    found = pilot[["n", "difference"]].rename(columns={"n": "documents"})
    rng = np.random.default_rng([seed, 2])
    documents = np.array(sorted(scores["document"].unique()))
    of_document = dict(tuple(scores.groupby("document")))
    with progress("plan", len(sizes) * studies, "draw") as count:
        for size in sizes:
            hits = pd.Series(0.0, index=found.index)
            for _ in range(studies):
                names = documents[_study(len(documents), size, rng)]
                drawn = [of_document[one].assign(record=place, document=str(place)) for place, one in enumerate(names)]
                tested = _compared(pd.concat(drawn), order, int(rng.integers(2**31))).set_index(about)
                hits = hits.add((tested["p"] < LEVEL).astype(float), fill_value=0.0)
                count.update()
            found[str(size)] = (hits.reindex(found.index) / studies).where(found["documents"] >= FEWEST)
    return found.reset_index().drop(columns=["stage", "condition"])


def _study(pilot: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Places in the pilot of the documents of one study, with weights of its own."""
    drawn = max(round(size * (pilot - 1) / (pilot + 1)), min(size, FEWEST))  # fewer are not tested
    return rng.choice(pilot, drawn, p=rng.dirichlet(np.ones(pilot)))


def _compared(scores: pd.DataFrame, order: list[str], seed: int) -> pd.DataFrame:
    every, unknown = scores["metric"].unique().tolist(), pd.DataFrame(columns=list(METRICS.columns))
    return compare_systems(scores, {}, unknown, order, seed=seed, own=dict.fromkeys(every), draws=DRAWS)


def require_documents(scores: pd.DataFrame) -> None:
    """Raises ValueError for a pilot of fewer documents than a difference is tested with."""
    if (count := scores["document"].nunique()) < FEWEST:
        raise ValueError(f"{count} documents; a plan needs a pilot of {FEWEST} or more")
