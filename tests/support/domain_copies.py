"""Copies of a domain that a test may spoil."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from tasks.domains import in_use

Edit = Callable[[Any], object]


@contextmanager
def copied_domain(source: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a copy of domain ``source``, which is in use under ``name`` and the only one."""
    folder = tmp_path / name
    copytree(in_use.FOLDER / source, folder)
    monkeypatch.setattr(in_use, "FOLDER", tmp_path)
    with in_use.in_domain(name):
        yield folder
        monkeypatch.undo()


def edit_file(folder: Path, name: str, edit: Edit) -> None:
    """Apply ``edit`` to the content of ``name``.yaml of a domain's folder."""
    file = folder / f"{name}.yaml"
    loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    edit(loaded)
    file.write_text(yaml.safe_dump(loaded, sort_keys=False, allow_unicode=True), encoding="utf-8")
