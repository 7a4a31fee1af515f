"""constraints.txt pins every installed package on every platform, and names no host."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
PINS = {canonicalize_name(line.split("==")[0]) for line in LINES}


def required() -> set[str]:
    """Packages required by the project, including extras, and their requirements on this machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    waiting = [Requirement(text) for text in [*project["dependencies"], *(text for extra in extras for text in extra)]]
    found: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in found or key[0] == "vignette":
            continue
        found.add(key)
        waiting += children(requirement)
    return {name for name, _ in found}


def children(requirement: Requirement) -> list[Requirement]:
    """Requirements of an installed package on this machine; empty for packages of extras that are not installed."""
    try:
        listed = [Requirement(text) for text in distribution(requirement.name).requires or []]
    except PackageNotFoundError:
        return []
    asked = ("", *requirement.extras)
    return [r for r in listed if r.marker is None or any(r.marker.evaluate({"extra": extra}) for extra in asked)]


def test_every_line_is_one_pinned_version() -> None:
    wrong = [line for line in LINES if not re.fullmatch(r"[\w.-]+==[\w.+!]+( ; .+)?", line)]
    assert wrong == []


def test_every_required_package_is_pinned() -> None:
    assert sorted(required() - PINS) == []


def test_torchs_requirements_on_linux_are_pinned() -> None:
    cuda = [line for line in LINES if line.startswith(("nvidia-", "triton"))]
    assert len(cuda) >= 15
    assert all("sys_platform == 'linux'" in line for line in cuda)
