"""A disk of its own, which a test may fill."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
