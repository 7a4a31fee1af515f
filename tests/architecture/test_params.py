"""params.yaml shows every param, and a stage depends on exactly those that its code reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from flows.repository.params import load_params
from flows.repository.pipeline import StageFiles, read_pipeline
from flows.runtime.stage import HOW_STAGES_RUN, Stage
from schemas.errors import ParamsError, VignetteError
from schemas.params import Params
from tests.support.cases import each
from tests.support.imports import ROOT

MAIN, PUBLISHED = (read_pipeline(ROOT / file) for file in ("dvc.yaml", "reports/published/dvc.yaml"))
PROBES = {name for name in MAIN if name.startswith("probe@")}
STAGES = {name: stage for name, stage in (MAIN | PUBLISHED).items() if name not in ("report", *PROBES)}
"""But for those that probe, which have no flow, and `report`, which depends on all params."""
SHIPPED: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
NO_DEFAULT = {"doclens.systems": "the shipped file lists outside data; a file without it has none"}


def listed(stage: str) -> list[str]:
    return STAGES[stage].get("params", [])


@each("stage", STAGES)
def test_a_stage_depends_on_identity_and_sampling_of_the_same_roles(stage: str) -> None:
    fingerprints = {Path(dep).stem for dep in STAGES[stage]["deps"] if Path(dep).match("fingerprints/*.json")}
    roles = {path.removeprefix("roles.") for path in listed(stage) if path.startswith("roles.")}
    assert fingerprints == {role for role in roles if "." not in role}
    assert roles - fingerprints <= {"writer.base_url"}, "span reads whether the simulator writes"


def test_a_stage_that_reads_a_param_which_is_not_listed_is_an_error() -> None:
    stage = Stage(StageFiles("doclens", {}, {}, params=frozenset({"seed", "doclens.notes"})), load_params())
    assert stage.params.doclens.notes == load_params().doclens.notes
    assert stage.params.runtime.chunk_rows > 0
    for read in (lambda: stage.params.doclens.style, lambda: stage.params.network):
        with pytest.raises(ParamsError, match="does not list; add it"):
            read()


def test_a_stage_that_asks_a_role_whose_identity_is_not_listed_is_an_error() -> None:
    stage = Stage(StageFiles("doclens", {}, {}, params=frozenset()), load_params())
    with pytest.raises(VignetteError, match=r"stage doclens asks the judge[;:] add fingerprints.judge.json"):
        stage.ask("judge")


def test_every_section_is_listed_by_a_stage_or_concerns_execution() -> None:
    used = {path.split(".")[0] for name in STAGES for path in listed(name)} | HOW_STAGES_RUN
    assert set(Params.model_fields) - used == {"report"}


def fields(model: type[BaseModel], shipped: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every param as (dotted name, default or None, value in params.yaml)."""
    for name, field in model.model_fields.items():
        path = f"{prefix}.{name}".lstrip(".")
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            default = default.model_dump()
        yield path, default, shipped.get(name, "missing")
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from fields(field.annotation, shipped[name], path)


def test_params_yaml_shows_every_param() -> None:
    assert [path for path, _, value in fields(Params, SHIPPED) if value == "missing"] == []


def test_a_default_is_the_value_that_params_yaml_ships() -> None:
    parts = {path.rpartition(".")[0] for path, _, _ in fields(Params, SHIPPED)}
    different = {
        path: (default, value)
        for path, default, value in fields(Params, SHIPPED)
        if default is not None and default != value and path not in NO_DEFAULT and path not in parts
    }
    assert different == {"watch.budget.ledger": ("default", "watch")}  # two budgets share a schema
