"""XGBoost's published protocol beside scikit-learn's grid search."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV

from schemas.params.baselines import Baselines
from tasks.baselines import xgboost_tab
from tasks.baselines.replicates import draw
from tasks.baselines.targets import codes_of
from tasks.baselines.workers import run_jobs
from tasks.baselines.xgboost_grid import combinations
from tasks.baselines.xgboost_search import SearchResult, fit_plain
from tasks.network.definition import load_definition
from tests.benchmarks.beside import row
from tests.support.grid_search import grid_search

RECORDS, SEED = 10_000, 7
PARAMS = Baselines()
FITS = 6480  # of one classifier's grid search: 1,296 combinations, 5 folds
SAMPLED = 4  # combinations a classifier that the peer is timed on, 20 fits each
WHOLE = [("dyspnea", "realistic"), ("pain", "no-sympt"), ("fever", "realistic")]  # searched in full by the peer as well


def benches() -> Iterator[dict[str, Any]]:
    """Seconds of all 15 classifiers, extrapolated for the peer; and whether whole searches choose the same."""
    train, test = draw(load_definition(), RECORDS, PARAMS.test_share, SEED)
    jobs, grid = xgboost_tab.jobs_of(load_definition(), train, test, PARAMS, SEED), combinations("published")
    started = time.perf_counter()
    results: list[SearchResult] = run_jobs(xgboost_tab.tune, jobs, 2)
    ours = time.perf_counter() - started
    _peer(jobs[0], grid[:2])  # starts its processes
    random, peer = np.random.default_rng(SEED), 0.0
    for job in jobs:
        chosen = [grid[i] for i in random.choice(len(grid), SAMPLED, replace=False)]
        peer += _peer(job, chosen)[1] * FITS / (SAMPLED * PARAMS.xgboost.folds)
    fits = len(jobs) * SAMPLED * PARAMS.xgboost.folds
    yield row(
        "xgboost: the published protocol, 15 classifiers",
        ours,
        peer,
        f"GridSearchCV(n_jobs=2), from {fits} fits",
        "s",
        FITS * len(jobs),
    )
    for job, result in zip(jobs, results, strict=True):
        if (job.target.symptom, job.setting) in WHOLE:
            yield _same_choice(job, result, test)


def _peer(job: xgboost_tab.Job, chosen: list[Any]) -> tuple[GridSearchCV, float]:
    """GridSearchCV over ``chosen`` combinations, and its seconds."""
    started = time.perf_counter()
    grid = [{name: [value] for name, value in c.as_dict().items()} for c in chosen]
    search = grid_search(job.train, grid, chosen[0], folds=PARAMS.xgboost.folds, seed=SEED, processes=2)
    return search, time.perf_counter() - started


def _same_choice(job: xgboost_tab.Job, result: SearchResult, test: pd.DataFrame) -> dict[str, Any]:
    """1 where the whole grid search chooses the same hyper-parameters with the same test F1, else 0."""
    search, _ = _peer(job, result.combinations)
    theirs = result.combinations[int(search.best_index_)]
    rows, labels = np.arange(len(job.train.labels)), codes_of(test, job.target)
    average = "binary" if job.train.values == 2 else "macro"
    first, second = (
        f1_score(labels, fit_plain(job.train, c, rows, SEED).predict(job.test), average=average)
        for c in (result.best, theirs)
    )
    same = float(result.best == theirs and first == second)
    name = f"xgboost: same choice and F1, {job.target.symptom} {job.setting}"
    return row(name, same, 1.0, "GridSearchCV, whole", "agrees", FITS, more=True)
