"""Each row and each point of docs/security.md has its tests, or only says whom to trust."""

import re
from pathlib import Path

import yaml

from tests.support.imports import ROOT

TESTED: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("security.yaml").read_text(encoding="utf-8"))
HEADS = ("source |", "who |", "listener |", "what |", "---")


def points() -> list[str]:
    """Rows of tables and points of lists."""
    lines = (ROOT / "docs" / "security.md").read_text(encoding="utf-8").splitlines()
    found = [line[2:] for line in lines if line.startswith(("| ", "- "))]
    return [one for one in found if not one.startswith(HEADS)]


def test_every_sentence_is_tested() -> None:
    missing = [one for one in points() if not any(one.startswith(known) for known in TESTED)]
    gone = [known for known in TESTED if not any(one.startswith(known) for one in points())]
    assert (missing, gone) == ([], [])


def test_the_tests_exist() -> None:
    sources = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"^(?:async )?def (test_\w+)\(", sources, re.MULTILINE))
    assert {name for names in TESTED.values() for name in names} - defined == set()
