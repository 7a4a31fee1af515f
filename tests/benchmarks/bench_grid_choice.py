"""Agreement of searches of the whole published grid with GridSearchCV: same choice, same test F1."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score
from tasks.baselines.replicates import draw

from tasks.baselines import xgboost_tab
from tasks.baselines.targets import labels_of
from tasks.baselines.workers import run_jobs
from tasks.baselines.xgboost_search import SearchResult, fit_plain
from tasks.network.definition import load_definition
from tests.benchmarks.bench_grid_search import FITS, PARAMS, RECORDS, SEED, peer_search
from tests.benchmarks.comparison import row

WHOLE = (("dyspnea", "realistic"), ("pain", "no-sympt"), ("fever", "realistic"))


def benches() -> Iterator[dict[str, Any]]:
    """One row per classifier."""
    train, test = draw(load_definition(), RECORDS, PARAMS.test_share, SEED)
    jobs = xgboost_tab.jobs_of(load_definition(), train, test, PARAMS, SEED)
    jobs = [job for job in jobs if (job.target.symptom, job.setting) in WHOLE]
    for job, result in zip(jobs, run_jobs(xgboost_tab.tune, jobs, 2), strict=True):
        yield _same_choice(job, result, test)


def _same_choice(job: xgboost_tab.Job, result: SearchResult, test: pd.DataFrame) -> dict[str, Any]:
    """1 where GridSearchCV chooses the same hyper-parameters with the same test F1, else 0."""
    search, _ = peer_search(job, result.combinations)
    theirs = result.combinations[int(search.best_index_)]
    rows, labels = np.arange(len(job.train.labels)), labels_of(test, job.target)
    average = "binary" if job.train.values == 2 else "macro"
    first, second = (
        f1_score(labels, fit_plain(job.train, c, rows, SEED).predict(job.test), average=average)
        for c in (result.best, theirs)
    )
    same = float(result.best == theirs and first == second)
    name = f"xgboost: same choice and F1, {job.target.symptom} {job.setting}"
    return row(name, same, 1.0, "GridSearchCV, whole", "agrees", FITS, more=True)
