"""Outside data: where it lies, and what it held when it was last used.

The folder differs from machine to machine, its content does not: stages that read it depend on
``fingerprints/sources.json``, the hashes of its files, and never on its path.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from flows.engine.tables import write_atomically
from schemas.errors import SourceError

VARIABLE = "SOURCES"
"""Environment variable that names the folder; it comes before sources.folder of params.yaml."""
FINGERPRINT = Path("fingerprints/sources.json")


def sources_folder(configured: str | None, fingerprint: Path = FINGERPRINT) -> Path | None:
    """The folder of outside data, or None where there is none and none was ever used.

    Raises SourceError when the folder named does not exist, or when the recorded results stand on outside data that
    is not at hand: they would be replaced by empty tables.
    """
    named = os.environ.get(VARIABLE) or configured
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise SourceError(f"{folder}: no such folder; set {VARIABLE} or sources.folder to one with outside data")
        return folder
    if read_fingerprint(fingerprint):
        raise SourceError(
            f"{fingerprint} names outside data, and no folder is set; run: make published {VARIABLE}=folder"
        )
    return None


def record_sources(folder: Path, fingerprint: Path = FINGERPRINT) -> bool:
    """Rewrite the fingerprint if a file of the folder is new, gone or changed; True when it was."""
    files = {file.relative_to(folder).as_posix(): _digest(file) for file in folder.rglob("*") if file.is_file()}
    content = json.dumps({"files": dict(sorted(files.items()))}, indent=2, ensure_ascii=False) + "\n"
    if fingerprint.exists() and fingerprint.read_text(encoding="utf-8") == content:
        return False
    write_atomically(fingerprint, lambda to: to.write_text(content, encoding="utf-8"))
    return True


def read_fingerprint(fingerprint: Path = FINGERPRINT) -> Mapping[str, str]:
    """SHA-256 of each file by its path in the folder; empty when no outside data was used."""
    if not fingerprint.exists():
        return {}
    files: Mapping[str, str] = json.loads(fingerprint.read_text(encoding="utf-8"))["files"]
    return files


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
