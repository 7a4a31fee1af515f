"""Reads and writes arrays of vectors at stage boundaries; never pickled."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from flows.engine.tables import write_atomically
from schemas.errors import TableError


def write_vectors(vectors: npt.NDArray[np.float32], path: Path) -> None:
    """Write float32 vectors (n, dimension) as .npy."""

    def save(to: Path) -> None:
        with to.open("wb") as file:
            np.save(file, vectors.astype("<f4"), allow_pickle=False)

    write_atomically(path, save)


def read_vectors(path: Path) -> npt.NDArray[np.float32]:
    """Read float32 vectors (n, dimension); raises TableError for anything else."""
    try:
        vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: not a readable array ({error}); run the embed stage (dvc repro embed)") from error
    if vectors.ndim != 2 or vectors.dtype != np.float32:
        raise TableError(
            f"{path}: found {vectors.dtype} {vectors.shape}, expected float32 (n, dimension); run embed again"
        )
    return vectors
