"""The neural baselines compared with one torch loop per model, and the memory of all baselines."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pandas as pd
import psutil
import torch
from tasks.baselines.replicates import draw

from schemas.params.learning import Baselines, Neural, XgboostTab
from tasks.baselines import bn_tab, bn_text, neural_text, neural_text_tab, xgboost_tab
from tasks.baselines.mlp import Classifiers, batch_order, initial_weights
from tasks.baselines.note_vectors import NoteVectors, embed
from tasks.network.definition import load_definition
from tests.baselines.samples import hashed, notes_of
from tests.benchmarks.comparison import row

RECORDS, SEED = 10_000, 7
PARAMS = Baselines(xgboost=XgboostTab(grid="published"), neural=Neural(least_rows=8000))


def benches() -> Iterator[dict[str, Any]]:
    """One row per comparison."""
    yield from _neural()
    yield from _memory()


def _hashed_notes(dimension: int = 384) -> tuple[pd.DataFrame, pd.DataFrame, NoteVectors]:
    train, test = draw(load_definition(), RECORDS, PARAMS.test_share, SEED)
    notes = notes_of(pd.concat([train, test], ignore_index=True))
    return train, test, NoteVectors(*embed(*notes, lambda texts: hashed(list(texts), dimension)))


def _neural() -> Iterator[dict[str, Any]]:
    train, test, vectors = _hashed_notes()
    plain = _plain_loops(train, vectors)
    for precision in ("float32", "bfloat16"):
        name = f"neural: all models at 8,000 records, {precision}"
        seconds, models = _all_models(train, test, vectors, precision)
        yield row(name, seconds, 180.0, "required", "s", models)
        yield row(f"{name}, beside a loop", seconds, plain, "a torch loop a model, float32", "s", models)


def _all_models(train: pd.DataFrame, test: pd.DataFrame, vectors: NoteVectors, precision: str) -> tuple[float, int]:
    """Seconds for all neural models, and their number."""
    neural = PARAMS.neural.model_copy(update={"precision": precision})
    params, definition = PARAMS.model_copy(update={"neural": neural}), load_definition()
    started = time.perf_counter()
    first = neural_text.predict(definition, vectors, train, test, params)
    second = neural_text_tab.predict(definition, vectors, train, test, params)
    seconds = time.perf_counter() - started
    return seconds, pd.concat([first, second]).groupby(["system", "condition", "symptom", "seed"]).ngroups


def _plain_loops(train: pd.DataFrame, vectors: NoteVectors) -> float:
    """Seconds for all models in plain torch loops, extrapolated from one of each kind; concat has twice the inputs."""
    definition, total = load_definition(), 0.0
    kinds = {"mean": 1 + 1 + 1, "concat": 1}  # hist, phys, mean; concat
    for targets in neural_text.joint_targets(definition):
        for kind, count in kinds.items():
            inputs = vectors.embedding(kind, "normal", train["record"].to_numpy())
            seconds = _plain_loop(neural_text.classifiers_of(train, inputs, targets[:1], definition))
            extra = 4 if kind == "mean" else 0  # spans, and the mean with three evidence settings
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
    weights = initial_weights(classifiers, params.hidden, 0)
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
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", f"from {__name__} import all_baselines as a; a()"]
    ) as run:
        megabytes = peak_memory(run)
    if run.returncode:
        raise RuntimeError(f"the baselines of the memory benchmark ended with {run.returncode}; see the lines above")
    yield row("baselines at 10,000 records: memory", megabytes, 2048.0, "allowed", "MB", RECORDS)


def peak_memory(run: "subprocess.Popen[bytes]") -> float:
    """Peak memory of a process and its workers until it ends, MB; shared memory counts once (PSS)."""
    highest, first = 0, psutil.Process(run.pid)
    while run.poll() is None:
        total = 0
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in (first, *first.children(recursive=True)):
                total += process.memory_full_info().pss
        highest = max(highest, total)
        time.sleep(0.1)
    return highest / 2**20


def all_baselines() -> None:
    """All models at 10,000 records. One epoch each, as memory does not grow with epochs."""
    definition = load_definition()
    once = {name: {**getattr(PARAMS.neural, name).model_dump(), "epochs": 1} for name in ("two_values", "more_values")}
    params = Baselines.model_validate(
        {**PARAMS.model_dump(), "xgboost": {"grid": "quick"}, "neural": {**PARAMS.neural.model_dump(), **once}}
    )
    train, test, vectors = _hashed_notes()
    bn_tab.predict(definition, train, test, params.network, SEED)
    xgboost_tab.predict(definition, train, test, params, SEED)
    text = neural_text.predict(definition, vectors, train, test, params)
    neural_text_tab.predict(definition, vectors, train, test, params)
    bn_text.predict(definition, vectors, text, train, test, params, SEED)
