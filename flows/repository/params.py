"""Loads and checks params.yaml."""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from flows.repository.workspace import STORE, belongs_to_user, workspace
from schemas.errors import DomainError, ParamsError, did_you_mean
from schemas.params import Params
from schemas.params.llm import Budget
from tasks.domains.in_use import domain_names, use_domain
from tasks.llm.prompt_set import use_folder
from tasks.transport.shown import public_url
from tasks.transport.untrusted import YamlLoader, compose_yaml, require_regular

BUDGET = "VIGNETTE_BUDGET"
"""Environment variable in which a scheduled rebuild passes its budget to the stages, as JSON."""
YES = "VIGNETTE_YES"
"""Environment variable with which `vignette repro --yes`, or the user, confirms whatever a run costs."""
STARTED_BY = "VIGNETTE_STARTED_BY"
"""Environment variable with the user's command, where that runs `vignette repro` in a clone of its own."""
COLLECT = "VIGNETTE_COLLECT"
"""Environment variable in which `vignette store missing` has the stages note requests instead of sending them."""


def is_collecting() -> bool:
    """Whether requests without a stored reply are noted in the store, and not sent."""
    return COLLECT in os.environ


_DEFAULT = Path("params.yaml")


def load_params(path: Path = _DEFAULT) -> Params:
    """Read and check a params file; this process then works in its domain, with its prompts.

    Raises DomainError for an unknown domain, and ParamsError that names the file, each offending key, what was found
    and what was expected.
    """
    if path == _DEFAULT and not belongs_to_user(path):
        raise ParamsError(
            f"{path.absolute()}: belongs to another user, who would choose the endpoints that get your keys; copy the "
            "folder, or name the file with its whole path by --params where the command has it"
        )
    try:
        require_regular(path)
        text = path.read_text(encoding="utf-8")
        _refuse_duplicates(path, compose_yaml(text))
        loaded = yaml.load(text, YamlLoader)
    except FileNotFoundError as error:
        remedy = (
            "run from the repository's root" if path.name == "params.yaml" else "check spelling and working directory"
        )
        raise ParamsError(f"{path}: no such file; {remedy}") from error
    except UnicodeDecodeError as error:
        raise ParamsError(f"{path}: byte {error.object[error.start]:#04x} is not UTF-8; save it in UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        said = getattr(error, "problem", None) or " ".join(str(error).split())
        raise ParamsError(f"{path}: {where}not valid YAML: {said}; indent and quote as the lines around it") from error
    try:
        params = Params.model_validate(loaded)
    except ValidationError as error:
        raise ParamsError("; ".join(_explain(path, problem) for problem in error.errors())) from error
    folder = params.prompts.folder
    try:
        use_domain(params.domain)
        use_folder(None if folder is None else path.parent / folder)
        if folder is not None:
            from tasks.llm.prompts import require_fillable  # loads jinja2

            require_fillable()
            if empty := [file for file in sorted((path.parent / folder).rglob("*.txt")) if not file.stat().st_size]:
                raise ParamsError(f"prompts.folder: {empty[0]}: is empty; write the prompt, or remove the file")
    except DomainError as error:
        raise DomainError(f"{path}: {error}{did_you_mean(params.domain, domain_names())}") from error
    except ParamsError as error:
        use_folder(None)  # rather than what was read of a refused one
        raise ParamsError(f"{path}: {error}") from error
    return params


def response_store(params: Params) -> Path | str:
    """The file of the response store, or the address of its database: what params name, else the workspace's own."""
    return params.runtime.store or workspace() / STORE


def run_budget(params: Params) -> Budget:
    """The budget of this run: that of the scheduled rebuild that started it, else that of params.yaml.

    It is not put into ``params``, because the report shows them and must not depend on who started the run.
    """
    if (handed := os.environ.get(BUDGET)) is None:
        return params.budget
    try:
        return Budget.model_validate_json(handed)
    except ValidationError as error:
        said = expectation(error.errors()[0])
        raise ParamsError(f"{BUDGET}, which `vignette watch` sets, is no budget in JSON: {said}; unset it") from error


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
        near = did_you_mean(problem["loc"][-1], _known_keys(problem["loc"]))
        return f"{path}: unknown key {key}; remove it or correct its spelling{near}"
    if problem["type"] == "missing":
        return f"{path}: key {key} is missing"
    found = problem["input"]
    private = isinstance(found, str) and (  # perhaps user:password@host, or with a key in its query
        key.endswith("base_url") or ("@" in found and ":" in found.partition("@")[0])
    )
    shown = public_url(found) if private else found
    return f"{path}: {key} is {shown!r}; {expectation(problem)}"


def expectation(problem: Mapping[str, Any]) -> str:
    """What pydantic expected in place of a value, with the most similar of several choices."""
    choices = re.findall(r"'([^']+)'", str(problem.get("ctx", {}).get("expected", "")))
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "expected")
    message = re.sub(r"^expected (greater|less) than", r"expected a number \1 than", message)
    return message + did_you_mean(problem["input"], choices)


def _known_keys(place: Sequence[int | str]) -> Collection[str]:
    """The keys of the section of params that has an unknown key at ``place``."""
    section: type[BaseModel] = Params
    for part in place[:-1]:  # names of roles and numbers of list items are no fields: the section remains
        if part in section.model_fields:
            section = next(_sections(section.model_fields[str(part)].annotation), section)
    return section.model_fields


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    """The sections in a type such as ``dict[str, Role] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _sections(argument)
