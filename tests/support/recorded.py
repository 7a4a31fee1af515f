"""Results recorded from an earlier version: the same input and seed give the same numbers in every later one.

After an intended change, review the new numbers, then write them with ``RECORD=1 python -m pytest FILE``.
"""

import os
from io import StringIO

import pandas as pd

from tests.support.imports import ROOT

FOLDER = ROOT / "tests" / "golden" / "tables"


def assert_as_recorded(name: str, found: pd.DataFrame) -> None:
    """Compare a small table with ``tests/golden/tables/<name>.csv``, to five digits."""
    text = found.to_csv(index=False, float_format="%.6g")
    file = FOLDER / f"{name}.csv"
    if os.environ.get("RECORD") == "1":
        file.write_text(text, encoding="utf-8")
    pd.testing.assert_frame_equal(pd.read_csv(StringIO(text)), pd.read_csv(file), rtol=1e-5)
