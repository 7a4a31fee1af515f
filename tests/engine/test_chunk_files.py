"""Chunks travel through any folder of fsspec; a folder that cannot be used is named in the error."""

import os

import pandas as pd
import pytest

from flows.runtime import chunk_files
from flows.runtime.chunk_files import ChunkFiles, chunk_folder
from schemas.errors import StoreError


def test_tables_and_keys_come_back_and_nothing_is_left() -> None:
    chunk = ChunkFiles("memory://exchange/write/0")
    notes = pd.DataFrame({"record": [1, 2], "note": ["a", "b"]})
    chunk.of("in").write({"notes": notes, "empty": notes.iloc[:0]})
    chunk.write_keys({b"k" * 32, b"m" * 32})
    read = chunk.of("in").read()
    pd.testing.assert_frame_equal(read["notes"], notes)
    assert list(read["empty"].columns) == ["record", "note"] and chunk.read_keys() == {b"k" * 32, b"m" * 32}
    chunk.remove()
    assert chunk.of("in").read() == {}


@pytest.mark.parametrize("url", ["nowhere://bucket/chunks", f"file://{os.devnull}/chunks"])
def test_an_unusable_folder_is_named(url: str) -> None:
    with pytest.raises(StoreError, match=r"runtime\.chunks_url") as raised:
        ChunkFiles(url).write({"notes": pd.DataFrame({"record": [1]})})
    assert url in str(raised.value)


def test_clones_on_other_machines_use_other_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    here = chunk_folder("s3://bucket/chunks", "write")
    monkeypatch.setattr(chunk_files.socket, "gethostname", lambda: "another")
    assert here != chunk_folder("s3://bucket/chunks", "write")
