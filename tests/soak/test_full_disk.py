"""The disk fills up in the midst of a rebuild: each failure is a line, and with space again the same bytes are made."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.clone import SMALL, Clone

pytestmark = pytest.mark.soak


def mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@contextmanager
def disk_of(folder: Path, size: str) -> Iterator[Path]:
    """A disk of its own in memory, or a skip where this user may not mount one."""
    folder.mkdir()
    if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)):
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def tables(clone: Clone) -> dict[str, str]:
    files = sorted((clone.folder / "reports" / "tables").glob("*.csv"))
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_rebuild_on_a_full_disk_fails_in_lines_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    whole = Clone(tmp_path / "whole")
    whole.set_params(**SMALL)
    small = whole.copied_to(tmp_path / "copy")
    whole.vignette("repro")
    with disk_of(tmp_path / "disk", "1g") as disk:
        clone = Clone.at(Path(shutil.move(str(small.folder), disk / "clone")))
        used = sum(file.stat().st_blocks for file in clone.folder.rglob("*") if file.is_file()) * 512
        assert mount("-o", f"remount,size={used + 15_000_000}", str(disk))
        failed = clone.vignette("repro", check=False)
        said = failed.stdout + failed.stderr
        assert failed.returncode == 1 and "free space" in said
        assert not [line for line in said.splitlines() if "Traceback" in line or "unexpected" in line]
        assert mount("-o", "remount,size=4g", str(disk))
        clone.vignette("repro")
        assert tables(clone) == tables(whole)
