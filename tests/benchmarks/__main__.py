"""``python -m tests.benchmarks [NAME ...]``: run benchmarks, write reports/benchmarks/benchmarks.csv.

Each benchmark is a function that yields rows ``name, ours, peer, peer_name, ratio, unit, n``; both sides are timed in
the same run, and a ratio above 1 means that ours is better. No benchmark fails on time.
"""

import argparse
import platform
import sys
from pathlib import Path

import pandas as pd

from flows.lineage.recording import cpu
from flows.repository.workspace import be_quiet
from flows.runtime.tables import write_table
from schemas.tables.columns import number, table, text
from tests.benchmarks import running, scale

TABLE = Path(__file__).parents[2] / "reports" / "benchmarks" / "benchmarks.csv"
BENCHES = {name: bench for module in (running, scale) for name, bench in sorted(module.BENCHES.items())}
_MEASURED = {name: number(nullable=True) for name in ("peer", "ratio")}
BENCHMARKS = table(
    {"name": text(), "ours": number(), **_MEASURED, "peer_name": text(nullable=True)}
    | {"unit": text(), "n": number(), "machine": text()},
    key=["name"],
)


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, or all; the table keeps the rows of the others."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHES], help=", ".join(BENCHES))
    options = parser.parse_args(arguments)
    be_quiet()
    machine = f"{cpu()}, {platform.machine()}"
    rows = []
    for name in options.names or BENCHES:
        for row in BENCHES[name]():
            rows.append({**row, "machine": machine})
            ratio = "" if row["ratio"] is None else f", {row['ratio']:.2f} times {row['peer_name']}"
            print(f"{row['name']}: {row['ours']:.4g} {row['unit']}{ratio}", flush=True)
    fresh = pd.DataFrame(rows, columns=list(BENCHMARKS.columns))
    fresh = fresh.astype({"ours": float, "peer": float, "ratio": float, "n": float, "peer_name": "str"})
    if TABLE.exists():
        kept = pd.read_csv(TABLE)
        fresh = pd.concat([kept[~kept["name"].isin(fresh["name"])], fresh], ignore_index=True)
    write_table(fresh.sort_values("name", ignore_index=True)[list(BENCHMARKS.columns)], TABLE, BENCHMARKS)
    print(f"written: {TABLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
