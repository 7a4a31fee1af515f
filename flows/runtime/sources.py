"""Outside data: where it is, which files a stage reads of it, and their content when they were last used.

A stage that reads outside data lists its files in a function ``reads`` (see `flows.stages`), as paths in the folder. It
depends on ``reports/published/sources/<stage>.json``, the hashes of these files, and not on the folder's path, which
differs between machines.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PosixPath

from flows.repository.pipeline import place_of, stage_function
from flows.repository.workspace import write_text
from schemas.errors import SourceError
from schemas.params import Params

VARIABLE = "SOURCES"
"""Environment variable that names the folder; it comes before sources.folder of params.yaml."""
SOURCE_FINGERPRINTS = Path("reports/published/sources")


class SourceFolder(PosixPath):
    """The folder of outside data as one stage gets it: ``/`` gives declared files and the folders that hold them.

    Joining any other path raises SourceError, because the results would not depend on that file's content.
    """

    _stage: str
    _declared: frozenset[Path]

    @classmethod
    def of(cls, folder: Path, stage: str, declared: Iterable[Path]) -> "SourceFolder":
        """``folder`` for ``stage``, which may open the files ``declared``."""
        made = cls(folder)
        made._stage, made._declared = stage, frozenset(declared)
        return made

    def __truediv__(self, name: str | os.PathLike[str]) -> Path:  # type: ignore[override]
        """The path ``name`` in the folder; raises SourceError when the stage does not declare it."""
        path = Path(self, name)
        if path in self._declared:
            return path
        if not any(path in file.parents for file in self._declared):
            module, function = place_of(self._stage, "reads")
            raise SourceError(
                f"stage {self._stage} opens {path}, which it does not declare; add it to {function}() in {module}"
            )
        return SourceFolder.of(path, self._stage, self._declared)

    def joinpath(self, *names: str | os.PathLike[str]) -> Path:  # type: ignore[override]
        """The same for several parts."""
        return self / Path(*names)


def declared_sources(stage: str, params: Params) -> list[str]:
    """The files of outside data that a stage reads, as paths in the folder."""
    declared: list[str] = stage_function(stage, "reads")(params)
    return declared


def fingerprint_file(stage: str) -> Path:
    """Path of the hashes of the files that a stage read."""
    return SOURCE_FINGERPRINTS / f"{stage}.json"


def sources_folder(configured: str | None, fingerprints: Iterable[Path]) -> Path | None:
    """The folder of outside data, or None where there is none and none was used before.

    Raises SourceError when the folder does not exist, or when none is set and ``fingerprints`` name files: the
    recorded results would be replaced by empty tables.
    """
    named = os.environ.get(VARIABLE) or configured
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise SourceError(f"{folder}: no such folder; set {VARIABLE} or sources.folder to one with outside data")
        return folder
    for fingerprint in fingerprints:
        if read_hashes(fingerprint):
            raise SourceError(
                f"{fingerprint} names outside data, and no folder is set; run: make published {VARIABLE}=folder"
            )
    return None


def record_sources(folder: Path | None, declared: Iterable[str], fingerprint: Path) -> bool:
    """Rewrite a fingerprint if a declared file is new, gone or changed; True when it was. Absent files are left out."""
    found = {name: folder / name for name in declared} if folder else {}
    files = {name: _digest(file) for name, file in sorted(found.items()) if file.is_file()}
    content = json.dumps({"files": files}, indent=2, ensure_ascii=False) + "\n"
    if fingerprint.exists() and fingerprint.read_text(encoding="utf-8") == content:
        return False
    write_text(fingerprint, content)
    return True


def read_hashes(fingerprint: Path) -> Mapping[str, str]:
    """SHA-256 of each file by its path in the folder; empty when no outside data was used."""
    if not fingerprint.exists():
        return {}
    files: Mapping[str, str] = json.loads(fingerprint.read_text(encoding="utf-8"))["files"]
    return files


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
