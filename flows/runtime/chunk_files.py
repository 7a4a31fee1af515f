"""Hands chunks to other machines and takes their results: files in a folder that fsspec can reach.

A folder is a local path or any URL of fsspec (``s3://bucket/folder``). Credentials and endpoints come from the
environment or fsspec's own configuration, never from params.
"""

import hashlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.workspace import workspace
from schemas.errors import StoreError
from tasks.transport.store import split_keys

CODE = ("flows", "tasks", "schemas")
USED = "used.keys"


@dataclass(frozen=True)
class ChunkFiles:
    """The files of one chunk, or of all chunks of a stage, in the folder ``url``."""

    url: str

    def of(self, part: object) -> "ChunkFiles":
        """The folder ``part`` within this one."""
        return ChunkFiles(f"{self.url}/{part}")

    def write(self, frames: Frames) -> None:
        """Write each table to a parquet file. Raises StoreError."""
        with self._open() as (system, folder):
            system.makedirs(folder, exist_ok=True)
            for name, frame in frames.items():
                with system.open(f"{folder}/{name}.parquet", "wb") as file:
                    frame.to_parquet(file, index=False)

    def read(self) -> Frames:
        """Read all parquet files, by stem. Raises StoreError."""
        with self._open() as (system, folder):
            frames: Frames = {}
            for path in sorted(system.glob(f"{folder}/*.parquet")):
                with system.open(path, "rb") as file:
                    frames[Path(path).stem] = pd.read_parquet(file)
            return frames

    def write_keys(self, keys: set[bytes]) -> None:
        """Write the response store's keys of used replies. Raises StoreError."""
        with self._open() as (system, folder):
            system.pipe_file(f"{folder}/{USED}", b"".join(sorted(keys)))

    def read_keys(self) -> set[bytes]:
        """The keys that `write_keys` wrote. Raises StoreError."""
        with self._open() as (system, folder):
            return set(split_keys(system.cat_file(f"{folder}/{USED}")))

    def remove(self) -> None:
        """Delete the folder, if it exists. Raises StoreError."""
        with self._open() as (system, folder):
            if system.exists(folder):
                system.rm(folder, recursive=True)

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, str]]:
        """fsspec's file system of the folder and the path in it; listings are not cached, since others write too."""
        try:
            yield fsspec.url_to_fs(self.url, use_listings_cache=False)
        except ImportError as error:
            hint = 'for s3 run: pip install "vignette[s3]"'
            raise StoreError(f"{self.url}: {error}; {hint}") from error
        except Exception as error:  # each kind of storage has its own errors
            problem = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            raise StoreError(
                f"{self.url}: tables of chunks cannot be exchanged ({problem}); every worker must reach the folder "
                "runtime.chunks_url with credentials from its environment or from fsspec's configuration"
            ) from error


def chunk_folder(url: str | None, stage: str) -> ChunkFiles:
    """The folder of a stage's chunks: in the clone, or under ``url`` in a folder that no other clone uses."""
    if url is None:
        return ChunkFiles(str(workspace() / "chunks" / stage))
    clone = hashlib.sha256(f"{socket.gethostname()} {workspace().resolve()}".encode()).hexdigest()[:12]
    return ChunkFiles(f"{url.rstrip('/')}/{clone}/{stage}")


@lru_cache(maxsize=1)
def code_hash() -> str:
    """Hash of the project's code and data files, by which a worker knows that it runs the code of the stage."""
    root, digest = Path(__file__).resolve().parents[2], hashlib.sha256()
    for path in sorted(path for name in CODE for path in (root / name).rglob("*") if path.is_file()):
        if "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
