"""Loads and checks params.yaml."""

import os
from pathlib import Path

import yaml
from pydantic import ValidationError

from schemas.errors import ParamsError
from schemas.params import Params
from schemas.params.llm import Budget
from tasks.domains.in_use import use_domain
from tasks.llm.prompt_set import use_folder
from tasks.transport.shown import public_url
from tasks.transport.untrusted import compose_yaml

BUDGET = "VIGNETTE_BUDGET"
"""Environment variable in which a scheduled rebuild passes its budget to the stages, as JSON."""
YES = "VIGNETTE_YES"
"""Environment variable with which `vignette repro --yes`, or the user, confirms whatever a run costs."""


def load_params(path: Path = Path("params.yaml")) -> Params:
    """Read and check a params file; this process then works in its domain, with its prompts.

    Raises DomainError for an unknown domain, and ParamsError that names the file, each offending key, what was found
    and what was expected.
    """
    try:
        text = path.read_text(encoding="utf-8")
        _refuse_duplicates(path, compose_yaml(text))
        loaded = yaml.safe_load(text)
    except FileNotFoundError as error:
        raise ParamsError(f"{path}: no such file; run from the repository's root") from error
    except yaml.YAMLError as error:
        raise ParamsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    try:
        params = Params.model_validate(loaded)
    except ValidationError as error:
        raise ParamsError("; ".join(_explain(path, problem) for problem in error.errors())) from error
    use_domain(params.domain)
    folder = params.prompts.folder
    use_folder(None if folder is None else path.parent / folder)
    return params


def run_budget(params: Params) -> Budget:
    """The budget of this run: that of the scheduled rebuild that started it, else that of params.yaml.

    It is not put into ``params``, because the report shows them and must not depend on who started the run.
    """
    handed = os.environ.get(BUDGET)
    return params.budget if handed is None else Budget.model_validate_json(handed)


def confirmation_limit(params: Params) -> float | None:
    """Dollars above which a cost must be confirmed; None where nothing must be, or the environment confirms all."""
    return None if YES in os.environ else run_budget(params).confirm_above_dollars


def _refuse_duplicates(path: Path, node: yaml.Node | None) -> None:
    """Raise ParamsError for a key that a mapping has twice; YAML would use the last one silently."""
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if str(key.value) in lines:
                raise ParamsError(
                    f"{path}: line {line}: key {key.value} is a duplicate of line {lines[str(key.value)]}; remove one"
                )
            lines[str(key.value)] = line
            _refuse_duplicates(path, value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_duplicates(path, value)


def _explain(path: Path, problem: object) -> str:
    assert isinstance(problem, dict)
    key = ".".join(str(part) for part in problem["loc"]) or "(top level)"
    if problem["type"] == "extra_forbidden":
        return f"{path}: unknown key {key}; remove it or correct its spelling"
    if problem["type"] == "missing":
        return f"{path}: key {key} is missing"
    message = problem["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    found = problem["input"]
    shown = public_url(found) if isinstance(found, str) and "@" in found else found  # an address may hold a password
    return f"{path}: {key} is {shown!r}; {message}"
