"""The one loader of params.yaml."""

import os
from pathlib import Path

import yaml
from pydantic import ValidationError

from schemas.errors import ParamsError
from schemas.params import Params
from schemas.params.llm import Budget

BUDGET = "VIGNETTE_BUDGET"
"""A scheduled rebuild hands its own budget to the stages in this variable, as JSON."""


def load_params(path: Path = Path("params.yaml")) -> Params:
    """Read and check a params file.

    Raises ParamsError that names the file, each offending key, what was found and what was expected.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ParamsError(f"{path}: no such file; run from the repository's root") from error
    except yaml.YAMLError as error:
        raise ParamsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    try:
        return Params.model_validate(loaded)
    except ValidationError as error:
        raise ParamsError("; ".join(_explain(path, problem) for problem in error.errors())) from error


def run_budget(params: Params) -> Budget:
    """The cap that holds for this run: that of a scheduled rebuild where one set it, else that of params.yaml.

    It stands beside params, not in them: the report shows params, and its bytes may not depend on who set off the run.
    """
    handed = os.environ.get(BUDGET)
    return params.budget if handed is None else Budget.model_validate_json(handed)


def _explain(path: Path, problem: object) -> str:
    assert isinstance(problem, dict)
    key = ".".join(str(part) for part in problem["loc"]) or "(top level)"
    if problem["type"] == "extra_forbidden":
        return f"{path}: unknown key {key}; remove it or correct its spelling"
    if problem["type"] == "missing":
        return f"{path}: key {key} is missing"
    return f"{path}: {key} is {problem['input']!r}; {problem['msg'].replace('Input should be', 'expected')}"
