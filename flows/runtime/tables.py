"""Reads and writes tables at stage boundaries: checked when read, checked when written, written whole or not at all."""

import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pandera.errors
import pandera.pandas as pa
import pyarrow
import pyarrow.parquet as pq

from flows.repository.pipeline import maker_of
from flows.repository.workspace import write_atomically
from schemas.errors import TableError, with_remedy
from schemas.tables.columns import table

CSV_FLOAT = "%.6g"
"""Digits of numbers in CSV tables: enough to compare, few enough to be the same on every processor."""

ROWS = 100_000
"""Rows that are checked and converted at once, and rows of a row group of parquet."""


def check(frame: pd.DataFrame, schema: pa.DataFrameSchema, where: str) -> pd.DataFrame:
    """Validate ``frame``, part by part and then its key, and return it.

    Raises TableError naming the file, the columns and the first bad rows.
    """
    rows = _of_columns(schema, list(schema.columns), key=None)
    for part in _parts(frame):
        _validate(part, rows, where)
    if schema.unique:
        key = list(schema.unique)
        _validate(frame[key], _of_columns(schema, key, key), where)
    return frame


def _parts(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Consecutive parts of at most ``ROWS`` rows; a table without rows is one part."""
    for start in range(0, max(len(frame), 1), ROWS):
        yield frame.iloc[start : start + ROWS]


def _of_columns(schema: pa.DataFrameSchema, columns: Sequence[str], key: list[str] | None) -> pa.DataFrameSchema:
    """``schema`` for ``columns`` only, with ``key`` as its key."""
    return table({name: schema.columns[name] for name in columns}, key=key)


def _validate(frame: pd.DataFrame, schema: pa.DataFrameSchema, where: str) -> None:
    try:
        schema.validate(frame, lazy=True)
    except pandera.errors.SchemaErrors as error:
        raise TableError(f"{where}: {_explain(error, frame, schema)}") from error


def _explain(error: pandera.errors.SchemaErrors, frame: pd.DataFrame, schema: pa.DataFrameSchema) -> str:
    expected, found = list(schema.columns), list(frame.columns)
    if expected != found:
        missing = [c for c in expected if c not in found]
        extra = [c for c in found if c not in expected]
        return f"columns do not fit: missing {missing}, unexpected {extra}; expected {expected}"
    cases = error.failure_cases.head(3)
    shown = "; ".join(
        f"column {row['column']}: {row['check']} failed for {row['failure_case']!r} (row {row['index']})"
        for _, row in cases.iterrows()
    )
    return f"{len(error.failure_cases)} values do not fit: {shown}"


def read_table(path: Path, schema: pa.DataFrameSchema, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a parquet or CSV table and check it; with ``columns``, only these are read from parquet and checked."""
    if not path.exists():
        raise TableError(f"{path}: no such file; {maker_of(path)}")
    try:
        if path.suffix == ".csv":
            types = {name: str(column.dtype) for name, column in schema.columns.items()}
            types = {name: "str" if kind.startswith("str") else kind for name, kind in types.items()}
            # Only an empty cell is missing: "None" and "NA" are words.
            frame = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])
            return check(frame, schema, str(path))
        return _read_parquet(path, schema, columns)
    except (ValueError, OSError) as error:
        raise TableError(f"{path}: not a readable {path.suffix[1:]} table ({error}); run dvc checkout") from error


def _read_parquet(path: Path, schema: pa.DataFrameSchema, columns: Sequence[str] | None) -> pd.DataFrame:
    with pq.ParquetFile(path) as file:
        fields = file.schema_arrow
        if columns is not None and fields.names == list(schema.columns):
            fields = pyarrow.schema([fields.field(name) for name in columns], fields.metadata)
            key = schema.unique if set(schema.unique or ()) <= set(columns) else None
            schema = _of_columns(schema, columns, key)
        frame = pyarrow.Table.from_batches(file.iter_batches(ROWS, columns=fields.names), fields).to_pandas()
    return check(frame, schema, str(path))


def write_table(frame: pd.DataFrame, path: Path, schema: pa.DataFrameSchema) -> None:
    """Check and write a table as parquet or CSV, by the path's ending."""
    check(frame, schema, str(path))
    if path.suffix == ".csv":
        write_atomically(path, lambda to: frame.to_csv(to, index=False, float_format=CSV_FLOAT, lineterminator="\n"))
    else:
        write_atomically(path, lambda to: _write_parquet(frame, to))


def table_bytes(frame: pd.DataFrame, suffix: str = ".csv") -> bytes:
    """A table as a file of that ending: CSV, or parquet."""
    if suffix == ".csv":
        text: str = frame.to_csv(index=False, float_format=CSV_FLOAT, lineterminator="\n")
        return text.encode()
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    fields = pyarrow.Schema.from_pandas(frame, preserve_index=False)
    with pq.ParquetWriter(path, fields) as writer:
        for part in _parts(frame):
            writer.write_table(pyarrow.Table.from_pandas(part, fields, preserve_index=False), ROWS)


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


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their names within a folder, in place of all that it held; whole or, on an error, not at all."""
    partial, former = (folder.with_name(f".{folder.name}.{os.getpid()}.{part}") for part in ("partial", "former"))
    try:
        for name, contents in files.items():
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            (partial / name).write_bytes(contents)
        if folder.exists():
            folder.replace(former)
        partial.replace(folder)
    except OSError as error:
        raise TableError(f"{folder}: could not be written: {with_remedy(error)}") from error
    finally:
        if former.exists() and not folder.exists():  # interrupted between the two
            former.replace(folder)
        for rest in (partial, former):
            shutil.rmtree(rest, ignore_errors=True)
