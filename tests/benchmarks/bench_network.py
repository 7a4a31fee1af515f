"""Sampling, inference and fitting compared with pgmpy, a plain loop and Adam. Times in seconds, memory in MB."""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.records import Fit
from schemas.tables.evidence import EVIDENCE_SETTINGS, evidence_columns
from tasks.network.coding import design_of, parameters
from tasks.network.definition import load_definition
from tasks.network.fitting import fit
from tasks.network.graph import NetworkDefinition, Table, in_categories
from tasks.network.inference import log_likelihood, posterior
from tasks.network.sampling import sample
from tests.benchmarks.comparison import row
from tests.support.pgmpy_model import to_pgmpy

MILLION, LOOPED, TEST_RECORDS, TRAIN_RECORDS = 1_000_000, 20_000, 2000, 8000
MEMORY_LIMIT = 1000.0
AGREEMENT = 1e-9


def benches() -> Iterator[dict[str, Any]]:
    """One row per comparison."""
    warnings.filterwarnings("ignore")
    network = load_definition()
    discrete = NetworkDefinition("discrete part", {n: v for n, v in network.nodes.items() if not v.is_count})
    yield from _sampling(network, discrete)
    yield from _memory()
    yield from _inference(in_categories(network, {"days_at_home": 15}))
    yield from _fitting(network)


def _seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """The best of ``repeats`` runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def _sampling(network: NetworkDefinition, discrete: NetworkDefinition) -> Iterator[dict[str, Any]]:
    model = to_pgmpy(discrete)
    ours = _seconds(lambda: sample(discrete, MILLION, 7), 3)
    theirs = _seconds(lambda: model.simulate(MILLION, seed=7, show_progress=False))
    yield row("network: sample, variables with values", ours, theirs, "pgmpy simulate", "s", MILLION)
    whole = _seconds(lambda: sample(network, MILLION, 7), 3)
    loop = _seconds(lambda: _loop(network, LOOPED)) * MILLION / LOOPED
    peer = f"record-by-record loop ({LOOPED} records, scaled)"
    yield row("network: sample, all variables", whole, loop, peer, "s", MILLION)


def _loop(network: NetworkDefinition, n: int) -> pd.DataFrame:
    """Sampling one record and one variable at a time."""
    random = np.random.default_rng(7)
    counts = [name for name in network.variables if network.is_count(name)]
    tables = {v: np.cumsum(np.exp(network.log_conditional(v)), axis=-1) for v in network.variables if v not in counts}
    rates = {name: network.rates(name) for name in counts}
    records = []
    for number in range(n):
        codes: dict[str, int] = {}
        for name in network.order:
            place = tuple(codes[parent] for parent in network.parents(name))
            if name in rates:
                codes[name] = int(random.poisson(rates[name][place]))
            else:
                codes[name] = int(np.searchsorted(tables[name][place], random.random(), side="right"))
        values = {v: codes[v] if v in rates else network.values(v)[codes[v]] for v in network.variables}
        records.append({"record": number, **values})
    return pd.DataFrame(records)


_OURS = "from tasks.network.definition import load_definition; from tasks.network.sampling import sample; "
_OURS += f"records = sample(load_definition(), {MILLION}, 7)"
_THEIRS = "from tasks.network.definition import load_definition; from tests.support.pgmpy_model import to_pgmpy; "
_THEIRS += "d = load_definition(); names = [v for v in d.variables if not d.is_count(v)]; "
_THEIRS += f"records = to_pgmpy(d, names).simulate({MILLION}, seed=7, show_progress=False)"


def _memory() -> Iterator[dict[str, Any]]:
    ours, theirs = _peak_memory(_OURS), _peak_memory(_THEIRS)
    name = "network: peak memory of a process that samples"
    yield row(f"{name}, against the limit", ours, MEMORY_LIMIT, "limit of 1 GB", "MB", MILLION)
    yield row(name, ours, theirs, "pgmpy simulate", "MB", MILLION)


def _peak_memory(code: str) -> float:
    """Peak resident memory of a fresh process, imports included."""
    # Not ru_maxrss, which a child inherits from a parent that once was larger.
    report = "; print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code + report], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1]) / 1000


def _inference(network: NetworkDefinition) -> Iterator[dict[str, Any]]:
    from pgmpy.inference import VariableElimination

    records = sample(network, TEST_RECORDS, 8)
    queries = [
        (symptom, records[evidence_columns(network, symptom, setting)])
        for symptom in network.of_type("symptom")
        for setting in EVIDENCE_SETTINGS
    ]
    found: list[np.ndarray] = []
    ours = _seconds(lambda: found.extend(posterior(network, rows, symptom) for symptom, rows in queries))
    engine = VariableElimination(to_pgmpy(network))
    largest, seconds = 0.0, 0.0
    for (symptom, rows), probabilities in zip(queries, found, strict=True):
        start = time.perf_counter()
        factors = [engine.query([symptom], evidence=row, show_progress=False) for row in rows.to_dict("records")]
        seconds += time.perf_counter() - start
        theirs = np.array([[f.get_value(**{symptom: v}) for v in network.values(symptom)] for f in factors])
        largest = max(largest, float(np.abs(theirs - probabilities).max()))
    n = TEST_RECORDS * len(queries)
    yield row(
        "network: P(symptom | evidence), 5 symptoms x 3 settings", ours, seconds, "pgmpy VariableElimination", "s", n
    )
    yield row(
        "network: largest difference from pgmpy's posteriors",
        max(largest, 1e-17),
        AGREEMENT,
        "difference allowed",
        "probability",
        n,
    )


def _fitting(network: NetworkDefinition) -> Iterator[dict[str, Any]]:
    records, fresh = sample(network, TRAIN_RECORDS, 9), sample(network, 100_000, 10)
    newton = fit(network, records, Fit(optimiser="newton"))
    adam = fit(network, records, Fit(optimiser="adam"))
    times = [_seconds(lambda o=o: fit(network, records, Fit(optimiser=o)), 3) for o in ("newton", "adam")]
    peer = "Adam, published settings"
    yield row("network: fit", *times, peer, "s", TRAIN_RECORDS)
    distances = [_distance(network, fitted) for fitted in (newton, adam)]
    yield row("network: mean distance from the true parameters", *distances, peer, "parameter", TRAIN_RECORDS)
    truth = log_likelihood(network, fresh).mean()
    loss = [truth - log_likelihood(in_categories(f, {"days_at_home": None}), fresh).mean() for f in (newton, adam)]
    yield row("network: held-out log-likelihood lost per record", *loss, peer, "nat", len(fresh))


def _distance(network: NetworkDefinition, fitted: NetworkDefinition) -> float:
    names = [n for n in network.variables if not isinstance(network.variable(n).distribution, Table)]
    pairs = [[parameters(net.variable(n), design_of(network, n).columns) for net in (network, fitted)] for n in names]
    return float(np.mean(np.abs(np.concatenate([a - b for a, b in pairs]))))


if __name__ == "__main__":
    print(pd.DataFrame(benches()).to_string(index=False))
