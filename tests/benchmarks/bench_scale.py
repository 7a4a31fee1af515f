"""From `sample` to `span` with the simulator at two sizes: processor time, memory and disk of each stage.

The sizes are in VIGNETTE_BENCH_RECORDS, by default 2,000 and 10,000 records (7 minutes of processor time); 100,000
take over an hour. The measurements go to docs/scale.csv, from which `scale_page` makes a table of docs/scale.md.
"""

import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import psutil

from tests.benchmarks.comparison import row
from tests.benchmarks.scale_page import MEASURED
from tests.support.clone import Clone

STAGES = ("sample", "prompt", "write", "filter", "compact", "span")
SIZES = tuple(int(size) for size in os.environ.get("VIGNETTE_BENCH_RECORDS", "2000,10000").split(","))
NOTES = 100
MEMORY_MB = 3000


def benches() -> Iterator[dict[str, Any]]:
    """Processor time per record at the larger size against the smaller, and the most memory."""
    measured = pd.concat([measure(size, last=size == SIZES[-1]) for size in SIZES], ignore_index=True)
    measured.to_csv(MEASURED, index=False, float_format="%.6g", lineterminator="\n")
    seconds, peak = (measured[measured["stage"].isin(STAGES)].groupby("records")[name] for name in ("cpu_s", "peak_mb"))
    few, many = (seconds.sum()[size] / size for size in SIZES)
    name = "sample to span: processor time"
    yield row(f"{name} of 1,000 records", 1000 * many, 1000 * few, f"of {SIZES[0]:,} records", "s", SIZES[-1])
    yield row("sample to span: memory", peak.max()[SIZES[-1]], MEMORY_MB, "allowed", "MB", SIZES[-1])


def measure(records: int, *, last: bool) -> pd.DataFrame:
    """A row for each stage; the ``last`` size also has DocLens on ``NOTES`` notes."""
    rows = []
    with TemporaryDirectory() as folder:
        clone = Clone(Path(folder))
        clone.set_params(sample__records=records, doclens__notes=NOTES)
        clone.vignette("probe")
        clone.vignette("server", "start")
        try:
            for stage in (*STAGES, *(["doclens"] if last else [])):
                rows.append({"records": NOTES if stage == "doclens" else records, **_run(clone, stage)})
        finally:
            clone.vignette("server", "stop")
    return pd.DataFrame(rows)


def _run(clone: Clone, stage: str) -> dict[str, Any]:
    """Seconds of all processes of a stage, the most memory of them together, and the growth of the store."""
    before, kept = _seconds(), _store(clone)
    with _Memory() as memory:
        clone.vignette("stage", stage, timeout=36_000)
    calls = _calls(clone, stage)
    return {
        "stage": stage,
        "cpu_s": _seconds() - before,
        "peak_mb": memory.peak / 1e6,
        "store_mb": (_store(clone) - kept) / 1e6,
        "tables_mb": sum(file.stat().st_size for file in (clone.folder / "data" / stage).glob("*")) / 1e6,
        **calls,
    }


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _store(clone: Clone) -> int:
    return sum(file.stat().st_size for file in (clone.folder / ".vignette").glob("responses.sqlite*"))


def _calls(clone: Clone, stage: str) -> dict[str, int]:
    (file,) = (clone.folder / ".vignette" / "runs" / stage).glob("*.json")
    run = pd.read_json(file, typ="series")
    return {name: int(run[name]) for name in ("calls", "prompt_tokens", "completion_tokens")}


class _Memory:
    """Samples the memory of this process's children, all together."""

    def __enter__(self) -> "_Memory":
        self.peak, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            self.peak = max(self.peak, sum(map(_resident, psutil.Process().children(recursive=True))))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0
