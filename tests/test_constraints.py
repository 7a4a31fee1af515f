"""constraints.txt pins every package that pyproject.toml names; `make lock` adds what these need."""

import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.imports import ROOT


def test_every_named_package_is_pinned_to_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    pinned = [line.split("==")[0] for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]
    assert {canonicalize_name(Requirement(text).name) for text in named} - {*pinned, "vignette"} == set()
