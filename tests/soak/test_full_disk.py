"""The disk fills up in the midst of a rebuild: each failure is a line, and with space again the same bytes are made."""

import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.clone import SMALL, Clone
from tests.support.disk import own_disk, resize

pytestmark = pytest.mark.soak


def tables(clone: Clone) -> dict[str, str]:
    files = sorted((clone.folder / "reports" / "tables").glob("*.csv"))
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_rebuild_on_a_full_disk_fails_in_lines_and_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    whole = Clone(tmp_path / "whole")
    whole.set_params(**SMALL)
    small = whole.copied_to(tmp_path / "copy")
    whole.vignette("repro")
    disk = tmp_path / "disk"
    disk.mkdir()
    with own_disk(disk, 1000) as mounted:
        if not mounted:
            pytest.skip("only root may mount a small disk")
        clone = Clone.at(Path(shutil.move(str(small.folder), disk / "clone")))
        used = sum(file.stat().st_blocks for file in clone.folder.rglob("*") if file.is_file()) * 512
        resize(disk, used + 15_000_000)
        failed = clone.vignette("repro", check=False)
        said = failed.stdout + failed.stderr
        assert failed.returncode == 1 and "free space" in said
        assert not [line for line in said.splitlines() if "Traceback" in line or "unexpected" in line]
        resize(disk, "4g")
        clone.vignette("repro")
        assert tables(clone) == tables(whole)
