"""Cases of rules in YAML: groups of a claim, a form, and cases as [input, ..., expected]."""

from pathlib import Path
from typing import Any

import pytest
import yaml


def read_cases(file: Path) -> list[Any]:
    """Pytest's parameters (form, inputs, expected) of each case of ``file``."""
    return [
        pytest.param(group["form"], case[:-1], case[-1], id=f"{group['claim']} {number}")
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))
        for number, case in enumerate(group["cases"])
    ]
