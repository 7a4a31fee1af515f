"""Renews the snapshots that differ, and names what changed: python -m tests.snapshots [default] [published]."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.transport.instructions import use_instruction_set


def main(kinds: list[str]) -> None:
    use_instruction_set("avx2")  # before NumPy is imported
    from tests.snapshots.small import KEPT, RUNS
    from tests.snapshots.tables import SHOWN, changed, written

    for kind in kinds or RUNS:
        with TemporaryDirectory() as folder:
            tables = RUNS[kind](Path(folder))
        (KEPT / kind).mkdir(exist_ok=True)
        for name, lines in changed(KEPT / kind, tables).items():
            print("\n".join(lines[:SHOWN]), f"{len(lines)} differences in {name}", sep="\n")
            file = KEPT / kind / f"{name}.csv"
            file.write_text(written(tables[name]), encoding="utf-8") if name in tables else file.unlink()


main(sys.argv[1:])
