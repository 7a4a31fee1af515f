"""From `sample` to `span` with the simulator at two sizes: processor time, memory and disk of each stage.

The sizes are in VIGNETTE_BENCH_RECORDS, by default 2,000 and 10,000 records (7 minutes of processor time); 100,000
take over an hour. The measurements go to docs/scale.csv; ``python -m tests.benchmarks.scale`` writes the table of
docs/scale.md from them. Processor time is extrapolated by the calls, without the start of the stage's process, which
the stage `sample` gives.
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

from tests.benchmarks.rows import Row, row
from tests.support.clone import Clone

STAGES = ("sample", "prompt", "write", "filter", "compact", "span")
SIZES = tuple(int(size) for size in os.environ.get("VIGNETTE_BENCH_RECORDS", "2000,10000").split(","))
NOTES = 100
MEMORY_MB = 2500


def scale() -> Iterator[Row]:
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


DOCS = Path(__file__).resolve().parents[2] / "docs"
MEASURED, PAGE = DOCS / "scale.csv", DOCS / "scale.md"
BEGIN, END = "<!-- table of scale.csv -->", "<!-- end of the table -->"
RECORDS = 1_000_000
DOLLARS = (2.5, 10.0)
"""Per million tokens of the prompt and of the completion: gpt-4o."""
CALLS_A_MINUTE = 10_000


def table(measured: pd.DataFrame) -> str:
    """A Markdown table of a run of ``RECORDS`` records, from the largest measured size of each stage."""
    start = measured.loc[measured["stage"] == "sample", "cpu_s"].min()
    largest = measured.sort_values("records").groupby("stage").last().loc[measured["stage"].drop_duplicates()]
    scale = RECORDS / largest["records"]
    figures = pd.DataFrame(
        {
            "calls, millions": largest["calls"] * scale / 1e6,
            "simulator, processor hours": (largest["cpu_s"] - start).clip(lower=0) * scale / 3600,
            f"hosted, hours at {CALLS_A_MINUTE:,} calls a minute": largest["calls"] * scale / CALLS_A_MINUTE / 60,
            "tokens, billions": (largest["prompt_tokens"] + largest["completion_tokens"]) * scale / 1e9,
            "dollars": (largest["prompt_tokens"] * DOLLARS[0] + largest["completion_tokens"] * DOLLARS[1])
            * scale
            / 1e6,
            "store, GB": largest["store_mb"] * scale / 1e3,
            "tables, GB": largest["tables_mb"] * scale / 1e3,
        }
    )
    figures.loc["all"] = figures.sum()
    lines = [f"| stage | {' | '.join(figures.columns)} |", "|---" * (len(figures.columns) + 1) + "|"]
    for stage, values in figures.iterrows():
        cells = [f"{value:,.0f}" if name == "dollars" else f"{value:,.1f}" for name, value in values.items()]
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_table(page: str, measured: pd.DataFrame) -> str:
    """The page with the table of ``measured`` in place of its present one."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table(measured)}\n\n{END}{rest.split(END)[1]}"


BENCHES = {"scale": scale}


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), pd.read_csv(MEASURED)), encoding="utf-8")
