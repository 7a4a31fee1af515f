"""The site has every page, and the table of docs/scale.md follows from the measurements in docs/scale.csv."""

import ast
import inspect
import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from pydantic import BaseModel

from flows.commands.parser import COMMANDS
from flows.repository.pipeline import MAIN, read_pipeline
from schemas.params import Params
from tasks.reporting.page import meanings
from tests.benchmarks.scale import MEASURED, PAGE, with_table
from tests.support.imports import ROOT

pytest.importorskip("material", reason="an extra: pip install -e '.[docs]'")
load_config = pytest.importorskip("mkdocs.config").load_config
build = pytest.importorskip("mkdocs.commands.build").build


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does; a broken link or anchor is an error."""
    folder: Path = tmp_path_factory.mktemp("site")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder))
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    config.plugins.on_shutdown()
    return folder


of_the_site = pytest.mark.dag  # built in a quarter of a minute


def text(page: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


@of_the_site
def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        loaded = re.findall(r'(?:src|<link[^>]*href)="?(?:https?:)?//[^"]+', page.read_text(encoding="utf-8"))
        assert loaded == [], page.name
    styles = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.css"))
    assert re.findall(r"url\(\"?(?:https?:)?//", styles) == []


@of_the_site
def test_the_reference_lists_every_param_stage_and_command(site: Path) -> None:
    reference = {name: text(site / "reference" / f"{name}.html") for name in ("params", "stages", "commands", "tables")}
    words = set(reference["params"].split())
    assert [name for name, _ in params(Params) if name.rpartition(".")[2] not in words] == []
    stages = {name.partition("@")[0] for name in read_pipeline(ROOT / MAIN)}  # probe@judge is of probe
    assert [name for name in sorted(stages) if f"\n  {name}:" not in reference["stages"]] == []
    assert all(f"vignette {name}" in reference["commands"] for name in COMMANDS)
    assert "characters into the note, 0-based" in reference["tables"] and "RELIABILITY" in reference["tables"]


def params(section: type[BaseModel]) -> Iterator[tuple[str, bool]]:
    """Each param, and whether a string below it describes it; sections are replaced by their params."""
    described = set[str]()
    for kind in section.__mro__[: section.__mro__.index(BaseModel)]:
        body = ast.parse(inspect.getsource(kind)).body[0].body  # type: ignore[attr-defined]
        described |= {ast.unparse(one.target) for one, below in pairwise(body) if is_described(one, below)}
    for name, field in section.model_fields.items():
        held = [part for part in (field.annotation, *get_args(field.annotation)) if isinstance(part, type)]
        inner = [part for part in held if issubclass(part, BaseModel)]
        yield from params(inner[0]) if inner else [(f"{section.__name__}.{name}", name in described)]


def is_described(one: ast.stmt, below: ast.stmt) -> bool:
    return isinstance(one, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)


def test_every_param_has_a_description() -> None:
    found = list(params(Params))
    assert len(found) > 100
    assert [name for name, described in found if not described] == [], "add a string below it in schemas/params"


@pytest.mark.parametrize("folder", ["reports/tables", "reports/published/tables"])
def test_every_metric_has_a_description(folder: str) -> None:
    tables = {file.stem: pd.read_csv(file) for file in sorted((ROOT / folder).glob("*.csv"))}
    metrics = {(stem, name) for stem, table in tables.items() if "metric" in table for name in table["metric"]}
    assert len(metrics) > 50
    missing = [(stem, name) for stem, name in sorted(metrics) if not meanings(stem).get(name)]
    assert missing == [], "add to the metric's meaning, or to tasks/reporting/templates/captions.yaml"


def test_the_page_shows_the_measurements() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, pd.read_csv(MEASURED)) == page
