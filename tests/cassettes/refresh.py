"""Keeps a recorded lineage up to date: ``python -m tests.cassettes.refresh LINEAGE``.

Asks the recorded model for replies to changed prompts alone, and drops those that nothing asks for any more. The
endpoint must be up at the addresses in the lineage's params (tests/cassettes/respiratory/params.yaml).
"""

import argparse
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

from flows.lineage.recorded import REPLIES, RecordedClone, cassette
from flows.repository.workspace import root, workspace


def read_replies(file: Path) -> list[dict[str, Any]]:
    """Requests and replies, as `vignette store export` writes them into a compressed file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def refresh(lineage: str, folder: Path) -> None:
    """Build a lineage in a clone in ``folder``, and copy its replies here."""
    recorded = cassette(lineage)
    clone = RecordedClone(folder.resolve(), recorded)
    clone.build_recorded()
    # Imported above; export does not replace a file that it did not write.
    (clone.folder / recorded / REPLIES).unlink(missing_ok=True)
    clone.vignette("store", "export", "--used", str(recorded / REPLIES))
    shutil.copy(clone.folder / recorded / REPLIES, root() / recorded / REPLIES)
    print(f"{recorded / REPLIES}: written")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.cassettes.refresh", description=__doc__)
    parser.add_argument("lineage", help="a folder of tests/cassettes with params.yaml")
    parser.add_argument("--folder", type=Path, help="clone to build in (default: .vignette/cassette/LINEAGE)")
    options = parser.parse_args()
    refresh(options.lineage, options.folder or workspace() / "cassette" / options.lineage)
