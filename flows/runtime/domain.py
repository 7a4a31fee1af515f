"""A clinical domain: its network, wording and layout, loaded and checked as one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from flows.repository.pipeline import MAIN, StageFiles
from schemas.errors import DomainError, NetworkError
from tasks.domains import in_use
from tasks.domains.rules import PromptingRules, history_defects, history_words, layout_defects, wording_defects
from tasks.network.definition import load_definition
from tasks.network.graph import NetworkDefinition
from tasks.network.transitions import read_transitions


@dataclass(frozen=True)
class Domain:
    """One domain. Roles of variables come from the types of the network file."""

    network: NetworkDefinition
    wording: PromptingRules


def load_domain(name: str) -> Domain:
    """Read and check a domain.

    Raises DomainError with one line for each defect, naming file and key.
    """
    in_use.require_domain(name)
    defects: list[str] = []
    network = wording = None
    try:
        network = load_definition(in_use.FOLDER / name / "network.yaml")
    except NetworkError as error:
        defects.append(str(error))
    try:
        wording = PromptingRules.model_validate(in_use.data_of(name, "wording"))
    except ValidationError as error:
        defects += validation_lines(name, "wording", error)
    if network is not None and wording is not None:
        defects += _located(name, "wording", wording_defects(wording, network))
        defects += _located(name, "dataset", layout_defects(in_use.data_of(name, "dataset"), network))
    if network is not None:
        try:
            defects += _located(name, "history", history_defects(history_words(name), network))
        except ValidationError as error:
            defects += validation_lines(name, "history", error)
    if network is not None and (transitions := in_use.FOLDER / name / "transitions.yaml").exists():
        try:
            read_transitions(transitions, network)
        except NetworkError as error:
            defects.append(str(error))
    if defects or network is None or wording is None:
        raise DomainError("\n".join(defects))
    return Domain(network, wording)


def require_rules(domain: str) -> None:
    """Raises DomainError for defects of the data that the simulator alone reads, one line for each."""
    from tasks.simulator.domain_check import simulator_defects

    with in_use.in_domain(domain):
        if found := simulator_defects():
            raise DomainError("\n".join(found))


def _located(domain: str, file: str, lines: Iterable[str]) -> list[str]:
    return [f"{in_use.FOLDER / domain / file}.yaml: {line}" for line in lines]


def validation_lines(domain: str, file: str, error: ValidationError) -> list[str]:
    """One line for each problem that pydantic found in a file of the domain."""
    errors = error.errors()
    lines = [f"key {'.'.join(map(str, one['loc']))}: {one['msg']}; found {_shown(one['input'])}" for one in errors]
    return _located(domain, file, lines)


def _shown(value: Any) -> str:
    text = repr(value.model_dump() if isinstance(value, BaseModel) else value)
    return text if len(text) < 60 else text[:57] + "..."


def require_published_domain(files: StageFiles, domain: str) -> None:
    """Raise DomainError for a stage of the second pipeline that would compare another domain with SimSUM's tables."""
    own = in_use.FOLDER / domain / "network.yaml"
    if files.pipeline == MAIN or own not in {path.resolve() for path in files.deps.values()}:
        return
    from tasks.papers.printed import SIMSUM  # it imports pandas, which a command's help does without

    if load_definition(own).source != SIMSUM:
        raise DomainError(
            f"params.yaml: domain is {domain!r}, but {files.pipeline} compares with {SIMSUM}'s printed tables, which "
            f"belong to the domain {in_use.DEFAULT!r} and are absent in others; set domain: {in_use.DEFAULT} to run "
            "this stage"
        )
