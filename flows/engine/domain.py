"""A clinical domain: its network, wording, rubric and layout, loaded and checked as one."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from flows.engine.pipeline import MAIN, StageFiles
from schemas.errors import DomainError, NetworkError
from tasks.domains.checks import layout_defects, wording_defects
from tasks.domains.in_use import DEFAULT, domain_data, domain_file, domain_name
from tasks.domains.rules import PromptingRules
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition


@dataclass(frozen=True)
class Domain:
    """One domain. Roles of variables come from the types of the network file."""

    name: str
    network: NetworkDefinition
    wording: PromptingRules


def load_domain() -> Domain:
    """Read and check the domain in use.

    Raises DomainError with one line for each defect, naming file and key.
    """
    defects: list[str] = []
    network, wording = _network(defects), _read(PromptingRules, "wording", defects)
    if network is not None and wording is not None:
        defects += [f"{domain_file('wording')}: {line}" for line in wording_defects(wording, network)]
        defects += [f"{domain_file('dataset')}: {line}" for line in layout_defects(domain_data("dataset"), network)]
    if defects or network is None or wording is None:
        raise DomainError("\n".join(defects))
    return Domain(domain_name(), network, wording)


def require_published_domain(files: StageFiles) -> None:
    """Raise DomainError for a stage of the second pipeline that would compare another domain with SimSUM's tables."""
    own = domain_file("network")
    if files.pipeline == MAIN or own not in {path.resolve() for path in files.deps.values()}:
        return
    from tasks.reproduction.other_domain import SIMSUM  # it imports pandas, which a command's help does without

    if load_definition(own).source != SIMSUM:
        raise DomainError(
            f"params.yaml: domain is {domain_name()!r}, but {files.pipeline} compares with {SIMSUM}'s printed tables, "
            f"which belong to the domain {DEFAULT!r} and are absent in others; set domain: {DEFAULT} to run this stage"
        )


def _network(defects: list[str]) -> NetworkDefinition | None:
    try:
        return load_definition(domain_file("network"))
    except NetworkError as error:
        defects.append(str(error))
        return None


def _read(model: type[PromptingRules], name: str, defects: list[str]) -> PromptingRules | None:
    try:
        return model.model_validate(domain_data(name))
    except ValidationError as error:
        defects += validation_lines(name, error)
        return None


def validation_lines(name: str, error: ValidationError) -> list[str]:
    """One line for each problem that pydantic found in a file of the domain."""
    return [
        f"{domain_file(name)}: key {'.'.join(map(str, one['loc']))}: {one['msg']}; found {_shown(one['input'])}"
        for one in error.errors()
    ]


def _shown(value: Any) -> str:
    text = repr(value.model_dump() if isinstance(value, BaseModel) else value)
    return text if len(text) < 60 else text[:57] + "..."
