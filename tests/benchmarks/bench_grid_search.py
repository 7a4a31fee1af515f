"""XGBoost's published protocol compared with scikit-learn's grid search."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from tasks.baselines.replicates import draw

from schemas.params.learning import Baselines, XgboostTab
from tasks.baselines import xgboost_tab
from tasks.baselines.workers import run_jobs
from tasks.baselines.xgboost_search import Combination, combinations
from tasks.network.definition import load_definition
from tests.benchmarks.comparison import row
from tests.support.grid_search import grid_search

RECORDS, SEED = 10_000, 7
PARAMS = Baselines(xgboost=XgboostTab(grid="published"))
FITS = 6480  # of one classifier's grid search: 1,296 combinations, 5 folds
SAMPLED = 4  # combinations per classifier on which the peer is timed, 20 fits each


def benches() -> Iterator[dict[str, Any]]:
    """Seconds of all 15 classifiers, extrapolated for the peer."""
    train, test = draw(load_definition(), RECORDS, PARAMS.test_share, SEED)
    jobs, grid = xgboost_tab.jobs_of(load_definition(), train, test, PARAMS, SEED), combinations("published")
    started = time.perf_counter()
    run_jobs(xgboost_tab.tune, jobs, 2)
    ours = time.perf_counter() - started
    peer_search(jobs[0], grid[:2])  # starts its processes
    random, peer = np.random.default_rng(SEED), 0.0
    for job in jobs:
        chosen = [grid[i] for i in random.choice(len(grid), SAMPLED, replace=False)]
        peer += peer_search(job, chosen)[1] * FITS / (SAMPLED * PARAMS.xgboost.folds)
    fits = len(jobs) * SAMPLED * PARAMS.xgboost.folds
    yield row(
        "xgboost: the published protocol, 15 classifiers",
        ours,
        peer,
        f"GridSearchCV(n_jobs=2), from {fits} fits",
        "s",
        FITS * len(jobs),
    )


def peer_search(job: xgboost_tab.Job, chosen: Sequence[Combination]) -> tuple[GridSearchCV, float]:
    """GridSearchCV over ``chosen`` combinations, and its seconds."""
    started = time.perf_counter()
    grid = [{name: [value] for name, value in c.as_dict().items()} for c in chosen]
    search = grid_search(job.train, grid, chosen[0], folds=PARAMS.xgboost.folds, seed=SEED, processes=2)
    return search, time.perf_counter() - started
