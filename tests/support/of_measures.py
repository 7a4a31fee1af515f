"""What the tests of single measures add to tables of general tests."""

from importlib import import_module
from typing import Any

from tests.support.imports import ROOT


def of_measures(name: str) -> list[Any]:
    """What is called ``name`` in each ``tests/measures/*_examples.py``."""
    files = sorted((ROOT / "tests" / "measures").glob("*_examples.py"))
    return [getattr(import_module(f"tests.measures.{file.stem}"), name) for file in files]
