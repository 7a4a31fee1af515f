"""The stages of dvc.yaml.

A stage is ``run(stage)`` of the module with its name, or ``run_NAME(stage)`` of a module that holds several. One that
reads outside data lists its files in ``reads(params)`` or ``reads_NAME(params)``.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@cache
def place_of(stage: str, kind: str = "run") -> tuple[str, str]:
    """The module of a stage and its function: ``kind`` is ``run`` or ``reads``."""
    for file in FOLDER.glob("*.py"):
        if f"async def run_{stage}(" in file.read_text(encoding="utf-8"):
            return f"flows.stages.{file.stem}", f"{kind}_{stage}"
    return f"flows.stages.{stage}", kind


def stage_function(stage: str, kind: str = "run") -> Callable[[Any], Any]:
    """The function itself; imports its module."""
    module, name = place_of(stage, kind)
    function: Callable[[Any], Any] = getattr(import_module(module), name)
    return function
