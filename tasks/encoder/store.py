"""Cache of vectors across runs: an sqlite file keyed by encoder identity and text."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

_CHUNK = 500


class VectorStore:
    """Float32 vectors by (encoder identity, text), shared between processes; a kill loses at most one batch."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=60)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        self._connection.commit()

    def get(self, identity: str, texts: Sequence[str], dimension: int) -> dict[str, npt.NDArray[np.float32]]:
        """Vectors (dimension,) of those of ``texts`` that are stored."""
        keys = {_key(identity, text): text for text in texts}
        found = {}
        order = sorted(keys)
        for start in range(0, len(order), _CHUNK):
            chunk = order[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            rows = self._connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", chunk)
            for key, blob in rows:
                if len(blob) == 4 * dimension:  # an incomplete row is embedded again
                    found[keys[key]] = np.frombuffer(blob, dtype="<f4")
        return found

    def put(self, identity: str, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        """Store the vectors (n, dimension) of ``texts``."""
        rows = [
            (_key(identity, text), vector.astype("<f4").tobytes()) for text, vector in zip(texts, vectors, strict=True)
        ]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _key(identity: str, text: str) -> bytes:
    return hashlib.sha256(identity.encode() + b"\0" + text.encode("utf-8", "surrogatepass")).digest()
