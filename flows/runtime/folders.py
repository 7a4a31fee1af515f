"""Writes the folders and files that a user names, without losing a file of the user's, and reads their tables again."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from flows.repository.workspace import workspace, write_atomically, write_text
from schemas.errors import SourceError, with_remedy
from tasks.transport.untrusted import parse_json, read_bytes

if TYPE_CHECKING:
    import pandas as pd
    import pandera.pandas as pa

MARKER = ".vignette-export.json"
"""The file that lists what an export wrote: its kind, and the SHA-256 of each file."""
PARTIAL = ".vignette-partial"
"""The folder within the export in which its files are written before they are moved into place."""
EVALUATION_KIND = "vignette-evaluation"
"""Kind of the folder of an evaluation."""
WRITTEN = "written.json"
"""The file of the workspace that lists the digests of single files that commands wrote, by path."""
_SHOWN = 3


def write_export(folder: Path, files: Mapping[str, bytes], kind: str) -> None:
    """Write files by their names within a folder, in place of what an earlier export of the same kind wrote there.

    An interrupted export is replaced by the next one. Raises SourceError, see `require_replaceable`, before anything is
    changed, for a name that is absolute or leads out of the folder, and when the disk is full, which keeps the earlier
    export.
    """
    folder = folder.resolve()
    for name in files:  # made of ids, which are a user's or another's
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or "\0" in name or parts[0] in ("/", "//", MARKER, PARTIAL):
            raise SourceError(f"{folder}: {name!r} is no name of a file in it; rename what it is named after")
    if not folder.is_dir():
        require_replaceable(folder, kind)  # before it is made
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            _replace(folder, files, require_replaceable(folder, kind), kind)
    except OSError as error:
        raise SourceError(f"{folder}: could not be written: {with_remedy(error)}") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other command writes into the folder, which is there."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{folder}: another command writes here; waiting for it", file=sys.stderr)
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _replace(folder: Path, files: Mapping[str, bytes], known: Mapping[str, list[str]], kind: str) -> None:
    partial, digests = folder / PARTIAL, {name: [_digest(content)] for name, content in files.items()}
    try:
        shutil.rmtree(partial, ignore_errors=True)
        for name, content in files.items():
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_bytes(content)
        # While files are moved, both contents are known as written by an export.
        _mark(folder, kind, {name: known.get(name, []) + digests.get(name, []) for name in {*known, *digests}})
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).replace(folder / name)
        for name in known.keys() - files.keys():
            (folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # of the first folder that is not empty
                os.removedirs((folder / name).parent)
        _mark(folder, kind, digests)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def require_replaceable(folder: Path, kind: str) -> dict[str, list[str]]:
    """Digests of the files of an earlier export in ``folder``, by name; none where it is new or empty.

    Raises SourceError unless it can be made, is empty, or holds nothing but an unchanged export of the same kind.
    """
    folder = folder.resolve()
    if folder.is_file():
        raise SourceError(f"{folder}: is a file; name a folder with --out")
    above = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise SourceError(f"{folder}: cannot be created in {above}; name another folder with --out")
    known = _known(folder, kind)
    found = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir()]
    names = [path.relative_to(folder).as_posix() for path in found]
    names = [name for name in names if name != MARKER and not name.startswith(f"{PARTIAL}/")]
    if others := [name for name in names if name not in known]:
        raise SourceError(
            f"{folder}: holds {_first(others)}, which no export of kind {kind} wrote; name a new or empty folder with "
            "--out"
        )
    paths = {name: folder / name for name in names}
    same = {name for name, path in paths.items() if path.is_file() and not path.is_symlink()}  # no pipe is waited for
    same = {name for name in same if _digest(paths[name].read_bytes()) in known[name]}
    if changed := [name for name in names if name not in same]:
        raise SourceError(
            f"{folder}: {_first(changed)} changed since written; move away what you changed or name another folder "
            "with --out"
        )
    return {name: known[name] for name in names}


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def write_new_file(file: Path, content: bytes, kind: str) -> None:
    """Write a file that the user named. Raises SourceError, see `require_new_file`, and TableError if that fails."""
    require_new_file(file, kind)
    if file.exists() and not file.is_file():  # a device such as /dev/stdout
        file.write_bytes(content)
        return
    file = file.resolve()
    with locked(workspace()):
        # What stands there now stays known until the file is replaced.
        written, contents = _written(), [file.read_bytes()] if file.exists() else []
        written[str(file)] = [_digest_of_kind(one, kind) for one in (*contents, content)]
        write_text(workspace() / WRITTEN, json.dumps(written, indent=1) + "\n")
        write_atomically(file, lambda to: to.write_bytes(content))


def require_new_file(file: Path | None, kind: str) -> None:
    """Raises SourceError for a folder, and for a file other than an unchanged one of the same kind that is listed."""
    if file is not None and file.is_dir():
        raise SourceError(f"{file}: is a folder; name a file")
    if file is None or not file.is_file():
        return
    if _digest_of_kind(file.read_bytes(), kind) not in _written().get(str(file.resolve()), []):
        raise SourceError(
            f"{file}: exists, and {kind} did not write it or it changed since; name another file or move it away"
        )


def _written() -> dict[str, list[str]]:
    try:
        found = json.loads((workspace() / WRITTEN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _digest_of_kind(content: bytes, kind: str) -> str:
    return _digest(kind.encode() + b"\0" + content)


def _known(folder: Path, kind: str) -> dict[str, list[str]]:
    """Digests of the files that an earlier export wrote, by name; raises SourceError for one of another kind."""
    try:
        marker = parse_json(read_bytes(folder / MARKER).decode())
        found, files = marker["kind"], {str(name): list(digests) for name, digests in marker["files"].items()}
    except (SourceError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    if found != kind:
        raise SourceError(f"{folder}: is an export of kind {found}; name another folder with --out")
    return files


def _mark(folder: Path, kind: str, files: Mapping[str, list[str]]) -> None:
    text = json.dumps({"kind": kind, "files": dict(sorted(files.items()))}, indent=1) + "\n"
    partial = folder / PARTIAL / MARKER
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder / MARKER)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_written(file: Path, schema: pa.DataFrameSchema, what: str, command: str) -> pd.DataFrame:
    """A checked table of a folder that a command wrote. Raises SourceError where there is none, or another one."""
    import pandas as pd

    from flows.runtime.tables import check
    from tasks.texts.files import bounded_table

    if not file.is_file():
        raise SourceError(f"{file}: no such file; expected a folder that `{command}` wrote")
    try:
        bounded_table(file)
        return check(pd.read_parquet(file), schema, str(file))
    except (OSError, ValueError, LookupError, TypeError) as error:  # the last two of what pandas left in the file
        raise SourceError(f"{file}: not {what} ({error}); run `{command}` again") from error


def defused(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with each text, and each name of a column, that a spreadsheet takes for a formula marked as text."""
    texts = frame.select_dtypes(exclude=["number", "boolean"]).columns
    return frame.assign(**{name: frame[name].map(_as_text) for name in texts}).rename(columns=_as_text)


def _as_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    value = re.sub(r"\r(?!\n)", "\n", value)  # csv quotes no lone one, which would begin a row
    return f"'{value}" if value.lstrip().startswith(("=", "+", "-", "@")) else value
