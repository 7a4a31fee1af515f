"""The disk fills up in the midst of a rebuild: each failure is a line, and with space again the same bytes are made."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.clone import SMALL, Clone

pytestmark = pytest.mark.soak


@contextmanager
def own_disk(folder: Path, megabytes: int) -> Iterator[bool]:
    """Mount a file system in memory at ``folder``; False without root's rights, where it is the folder itself."""
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(["mount", *options], check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resize(folder: Path, size: int | str) -> None:
    """Give the disk at ``folder`` so many bytes, or a size such as ``4g``."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def tables(clone: Clone) -> dict[str, str]:
    files = sorted((clone.folder / "reports" / "tables").glob("*.csv"))
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_rebuild_on_a_full_disk_fails_in_lines_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    whole = Clone(tmp_path / "whole")
    whole.set_params(**SMALL)
    disk = tmp_path / "disk"
    disk.mkdir()
    with own_disk(disk, 1000) as mounted:
        if not mounted:
            pytest.skip("only root may mount a small disk")
        clone = whole.copied_to(disk / "clone")
        whole.vignette("repro")
        used = sum(file.stat().st_blocks for file in clone.folder.rglob("*") if file.is_file()) * 512
        resize(disk, used + 15_000_000)
        failed = clone.vignette("repro", check=False)
        said = failed.stdout + failed.stderr
        assert failed.returncode == 1 and "free space" in said
        assert not [line for line in said.splitlines() if "Traceback" in line or "unexpected" in line]
        resize(disk, "4g")
        clone.vignette("repro")
        assert tables(clone) == tables(whole)
