"""Writes the entry of one stage into dvc.lock and leaves the rest of the file as it is.

DVC parses and writes the whole file, with what a person may have changed in its layout, to replace one entry: two
seconds for the 34 stages of the main pipeline, after each of them.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dvc.dvcfile import Lockfile
from dvc.stage.serialize import to_lockfile
from dvc.utils.serialize import dumps_yaml, load_yaml

_START = "schema: '2.0'\nstages:\n"
_dvcs_way = Lockfile.dump_stages


def write_entries_alone() -> None:
    """Have DVC write entries of dvc.lock by `dump_stages`."""
    Lockfile.dump_stages = dump_stages


def dump_stages(lock: Any, stages: Iterable[Any], **options: Any) -> None:
    """Replace or append the entries of ``stages`` in the file of ``lock``, with the bytes that DVC would write.

    A file in another layout than DVC's is left to DVC.
    """
    file = Path(lock.path)
    for stage in stages:
        text, known = (file.read_text(encoding="utf-8"), load_yaml(file)) if file.exists() else (_START, {})
        entry = dumps_yaml({"stages": dict(to_lockfile(stage, **options))}).removeprefix("stages:\n")
        changed = with_entry(text, entry)
        if changed is None or (stage.name in (known.get("stages") or {})) != (_header(entry) in text.splitlines()):
            _dvcs_way(lock, [stage], **options)
        elif changed != text:
            file.write_text(changed, encoding="utf-8")
            lock.repo.scm_context.track_file(lock.relpath)


def with_entry(text: str, entry: str) -> str | None:
    """``text`` of a dvc.lock with ``entry`` in place of the stage's earlier one, or after the last.

    None for a file in another layout than DVC's.
    """
    if not text.startswith(_START):
        return None
    lines, header = text.removeprefix(_START).splitlines(keepends=True), _header(entry)
    starts = [at for at, line in enumerate(lines) if not line.startswith("   ")]
    if any(not lines[at].startswith("  ") or not lines[at].endswith(":\n") for at in starts) or text[-1] != "\n":
        return None
    first = next((at for at in starts if lines[at].rstrip("\n") == header), len(lines))
    end = next((at for at in starts if at > first), len(lines))
    return _START + "".join([*lines[:first], entry, *lines[end:]])


def _header(entry: str) -> str:
    return entry.partition("\n")[0]
