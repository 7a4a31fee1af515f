"""Word lists are parsed as intended."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.imports import ROOT

DOMAINS = (ROOT / "tasks" / "domains").glob("*/[lw]*/*.yaml")  # lexicon, writer
LISTS = sorted([*(ROOT / "tasks" / "simulator").rglob("*.yaml"), *(f for f in DOMAINS if f.stem != "plan")])


def leaves(value: Any) -> Iterator[Any]:
    """Keys and values at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


@pytest.mark.parametrize("file", LISTS, ids=lambda file: f"{file.parent.parent.name}/{file.name}")
def test_no_word_is_read_as_a_truth_value(file: Path) -> None:
    """YAML reads a bare ``no`` or ``on`` as false or true, which would put "False" into notes."""
    read = [value for value in leaves(yaml.safe_load(file.read_text(encoding="utf-8"))) if isinstance(value, bool)]
    assert not read, f"{file}: {len(read)} words such as no, yes, on, off need quotes"


def test_the_word_lists_are_found() -> None:
    assert len(LISTS) > 20
