"""Reads and validates a network file; errors name file, node and entry."""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import yaml

from schemas.errors import NetworkError
from tasks.domains.in_use import domain_file
from tasks.network.distributions import Distribution
from tasks.network.entries import Entry, read_logistic, read_noisy_or, read_poisson, read_table
from tasks.network.graph import VARIABLE_TYPES, NetworkDefinition, Variable

__all__ = ["NetworkDefinition", "Variable", "default_path", "load_definition"]

_KEYS = {"type", "values", "parents", "recorded", "table", "noisy_or", "logistic", "poisson"}
_READERS: dict[str, Callable[[Entry, Any, tuple[str, ...], dict[str, tuple[str, ...]]], Distribution]] = {
    "table": read_table,
    "noisy_or": read_noisy_or,
    "logistic": read_logistic,
    "poisson": read_poisson,
}
_RESERVED = {"record"}  # the id column of the record table


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses duplicate keys, of which PyYAML silently keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", node.start_mark)
        return super().construct_mapping(node, deep)


def default_path() -> Path:
    """The network file of the domain in use."""
    return domain_file("network")


def load_definition(path: Path | None = None) -> NetworkDefinition:
    """Read and check a network file; that of the domain in use where no path is given.

    Raises NetworkError for anything wrong: a cycle, an unknown parent, type or value, probabilities outside 0-1 or not
    summing to 1, a missing or unknown combination of parent values, a missing or unknown key.
    """
    path = path or default_path()
    try:
        loaded = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except OSError as error:
        raise NetworkError(f"{path}: cannot be read ({error.strerror}); give the path of a network file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise NetworkError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(loaded, dict) or set(loaded) - {"source"} != {"name", "variables"}:
        found = sorted(map(str, loaded)) if isinstance(loaded, dict) else type(loaded).__name__
        raise NetworkError(f"{path}: expected the keys name, variables and optionally source; found {found}")
    if not isinstance(loaded["variables"], dict) or not loaded["variables"]:
        raise NetworkError(f"{path}: variables must name at least one variable")
    return _read(path, loaded)


def _read(path: Path, loaded: dict[str, Any]) -> NetworkDefinition:
    raw: dict[str, dict[str, Any]] = loaded["variables"]
    values = {name: _read_values(_head(path, name, node), node) for name, node in raw.items()}
    parents = {name: _read_parents(Entry(f"{path}", name), node, values) for name, node in raw.items()}
    _check_acyclic(path, parents)
    nodes = {
        name: Variable(
            name=name,
            type=node["type"],
            values=values[name],
            parents=parents[name],
            distribution=_read_distribution(Entry(f"{path}", name), node, values, parents[name]),
            recorded=node.get("recorded", True),
        )
        for name, node in raw.items()
    }
    return NetworkDefinition(str(loaded["name"]), nodes, str(loaded.get("source", "")))


def _head(path: Path, name: object, node: object) -> Entry:
    """Check name, keys and type of one node."""
    at = Entry(f"{path}", str(name))
    if not isinstance(name, str) or not name or name in _RESERVED:
        raise at.error(f"a variable's name must be a string, in quotes if need be, and not {sorted(_RESERVED)}")
    if not isinstance(node, dict):
        raise at.error("expected type, values and a distribution")
    unknown = set(node) - _KEYS
    if unknown:
        raise at.error(f"unknown key {sorted(map(str, unknown))}; expected {sorted(_KEYS)}")
    if node.get("type") not in VARIABLE_TYPES:
        raise at.at("type").error(f"found {node.get('type')!r}; expected one of {', '.join(VARIABLE_TYPES)}")
    if not isinstance(node.get("recorded", True), bool):
        raise at.at("recorded").error(f"found {node['recorded']!r}; expected true or false")
    return at


def _read_values(at: Entry, node: dict[str, Any]) -> tuple[str, ...]:
    values = node.get("values")
    if values == "count":
        return ()
    at = at.at("values")
    if not isinstance(values, list) or len(values) < 2:
        raise at.error(f"found {values!r}; expected a list of at least two values, or count")
    for value in values:
        if not isinstance(value, str) or not value or "/" in value:
            raise at.error(f"found {value!r}; a value must be a string without a slash, in quotes if need be")
    if len(set(values)) < len(values):
        raise at.error(f"duplicate value in {values}")
    return tuple(values)


def _read_parents(at: Entry, node: dict[str, Any], values: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    parents = node.get("parents", [])
    at = at.at("parents")
    if not isinstance(parents, list):
        raise at.error(f"found {parents!r}; expected a list of variables")
    for parent in parents:
        if not isinstance(parent, str) or parent not in values:
            raise at.error(f"unknown parent {parent!r}; the file has {', '.join(values)}")
        if not values[parent]:
            raise at.error(f"{parent} is a count, which cannot be a parent; give it a list of values")
    if len(set(parents)) < len(parents):
        raise at.error(f"duplicate parent in {parents}")
    return tuple(parents)


def _check_acyclic(path: Path, parents: dict[str, tuple[str, ...]]) -> None:
    placed: set[str] = set()
    while len(placed) < len(parents):
        free = {name for name, causes in parents.items() if name not in placed and placed.issuperset(causes)}
        if not free:
            cycle = _find_cycle({name: causes for name, causes in parents.items() if name not in placed})
            raise (
                Entry(f"{path}", cycle[0])
                .at("parents")
                .error(f"cycle {' <- '.join(cycle)}; remove one of these parents")
            )
        placed |= free


def _find_cycle(parents: dict[str, tuple[str, ...]]) -> list[str]:
    walk = [next(iter(parents))]
    while True:
        cause = next(parent for parent in parents[walk[-1]] if parent in parents)
        if cause in walk:
            return [*walk[walk.index(cause) :], cause]
        walk.append(cause)


def _read_distribution(
    at: Entry, node: dict[str, Any], values: dict[str, tuple[str, ...]], parents: tuple[str, ...]
) -> Distribution:
    kinds = [kind for kind in _READERS if kind in node]
    if len(kinds) != 1:
        raise at.error(f"found {kinds or 'no distribution'}; expected exactly one of {', '.join(_READERS)}")
    kind = kinds[0]
    own = values[at.node]
    if (kind == "poisson") != (not own):
        raise at.at(kind).error("poisson requires values: count, and values: count requires poisson")
    if kind in ("noisy_or", "logistic") and len(own) != 2:
        raise at.at(kind).error(f"needs two values, found {list(own)}")
    of_parents = {parent: values[parent] for parent in parents}
    return _READERS[kind](at.at(kind), node[kind], own, of_parents)
