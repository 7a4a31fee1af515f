"""Comparing two lineages of 10,000 records: `vignette compare` against a scipy bootstrap of each measure."""

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy.stats import bootstrap

from tests.benchmarks.comparison import row
from tests.support.clone import Clone

RECORDS, TESTED, SEEDS, DRAWS = 10_000, 2_000, 5, 2_000
SYMPTOMS = {"cough": 2, "dyspnea": 2, "fever": 3, "nasal": 2, "pain": 2}
PREDICTORS = {  # table: conditions and seeds, as the default params have them
    "bn_tab": (3, 1),
    "xgboost_tab": (3, 1),
    "bn_text": (8, SEEDS),
    "neural_text": (10, SEEDS),
    "neural_text_tab": (6, SEEDS),
}
SCORES = {"doclens": 5, "med_omit": 2, "overlap": 14}


def benches() -> Iterator[dict[str, Any]]:
    """Seconds of the whole command, imports included, and of resampling alone."""
    with TemporaryDirectory() as folder:
        clone = Clone(Path(folder))
        for name, loss in (("before", 0.0), ("after", 0.01)):
            _commit(clone, name, loss)
        start = time.perf_counter()
        done = clone.vignette("compare", "before", "after")
        ours = time.perf_counter() - start
        compared = int(done.stdout.split("measures compared: ")[1].split(";")[0])
    peer = _scipy(8) * compared
    peer_name = "scipy.stats.bootstrap for each measure and seed, reckoned from eight, resampling alone"
    yield row("comparison of two lineages of 10,000 records", ours, peer, peer_name, "s", compared)


def _commit(clone: Clone, name: str, loss: float) -> None:
    draw = np.random.default_rng([7, len(name)])
    stages: dict[str, Any] = {}
    for table, (conditions, seeds) in PREDICTORS.items():
        stages[f"baseline_{table}"] = {
            "outs": [_keep(clone, f"predictions_{table}", _predictions(draw, conditions, seeds, loss))]
        }
    for table, measures in SCORES.items():
        stages[table] = {"outs": [_keep(clone, f"{table}_scores", _scores(draw, measures))]}
    (clone.folder / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}))
    clone.git("commit", "-qam", name)
    clone.git("tag", name)


def _keep(clone: Clone, stem: str, frame: pd.DataFrame) -> dict[str, str]:
    partial = clone.folder / f"{stem}.parquet"
    frame.to_parquet(partial, index=False)
    md5 = hashlib.md5(partial.read_bytes()).hexdigest()
    kept = clone.folder / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial.rename(kept)
    return {"path": f"data/{stem}.parquet", "md5": md5}


def _predictions(draw: np.random.Generator, conditions: int, seeds: int, loss: float) -> pd.DataFrame:
    frames = []
    for condition in range(conditions):
        for symptom, values in SYMPTOMS.items():
            names = np.array(["no", "yes"] if values == 2 else ["high", "low", "none"])
            label = np.random.default_rng([1, *symptom.encode()]).integers(values, size=TESTED)
            for seed in range(seeds):
                wrong = draw.random(TESTED) < 0.1 + loss
                guess = np.where(wrong, draw.integers(values, size=TESTED), label)
                frames.append(
                    pd.DataFrame(
                        {
                            "record": np.repeat(np.arange(TESTED), values),
                            "system": "predictor",
                            "condition": f"condition {condition}",
                            "symptom": symptom,
                            "seed": seed,
                            "label": np.repeat(names[label], values),
                            "predicted": np.repeat(names[guess], values),
                            "value": np.tile(names, TESTED),
                            "probability": draw.random(TESTED * values),
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True)


def _scores(draw: np.random.Generator, measures: int) -> pd.DataFrame:
    frames = [
        pd.DataFrame(
            {
                "record": np.arange(RECORDS),
                "system": "notes",
                "condition": "all",
                "item": "all",
                "metric": f"measure {measure}",
                "value": draw.random(RECORDS),
            }
        )
        for measure in range(measures)
    ]
    return pd.concat(frames, ignore_index=True)


def _scipy(measures: int) -> float:
    """Seconds of scipy for one measure: a paired bootstrap of the difference in F1, for each seed."""
    draw = np.random.default_rng(0)
    start = time.perf_counter()
    for _ in range(measures):
        label, a, b = (draw.random(TESTED) < 0.3 for _ in range(3))
        for _ in range(SEEDS):
            bootstrap(
                (label, a, b),
                _f1_difference,
                paired=True,
                vectorized=True,
                n_resamples=DRAWS,
                method="percentile",
                rng=draw,
            )
    return (time.perf_counter() - start) / measures


def _f1_difference(label: np.ndarray, a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
    def f1(guess: np.ndarray) -> np.ndarray:
        return 2 * (label & guess).sum(axis=axis) / (label.sum(axis=axis) + guess.sum(axis=axis))

    return f1(b) - f1(a)
