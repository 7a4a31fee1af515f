"""Reads and checks a network file; errors name file, node and entry."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from schemas.errors import NetworkError
from tasks.network.graph import (
    VARIABLE_TYPES,
    Distribution,
    Effects,
    Logistic,
    NetworkDefinition,
    NoisyOr,
    Poisson,
    Table,
    Variable,
)
from tasks.transport.untrusted import compose_yaml

SUM_TOLERANCE = 1e-9

Values = dict[str, tuple[str, ...]]
"""The values of each parent, in the order of the parents."""


@dataclass(frozen=True)
class Entry:
    """A value ``raw`` of a network file, and its place."""

    file: Path
    node: str
    raw: Any
    path: tuple[str, ...] = ()

    def at(self, key: object, raw: Any) -> "Entry":
        """The entry below this one at ``key``."""
        return replace(self, raw=raw, path=(*self.path, str(key)))

    def error(self, message: str) -> NetworkError:
        """An error that names file, node and entry."""
        where = f", entry {'.'.join(self.path)}" if self.path else ""
        return NetworkError(f"{self.file}: node {self.node}{where}: {message}")

    def expected(self, what: str) -> NetworkError:
        """An error that shows the value found."""
        return self.error(f"found {self.raw!r}; expected {what}")

    def items(self) -> dict[Any, "Entry"]:
        """The entries of a mapping."""
        if not isinstance(self.raw, dict):
            raise self.expected("a mapping")
        return {key: self.at(key, value) for key, value in self.raw.items()}

    def fields(self, names: Iterable[str], what: str = "key") -> dict[str, "Entry"]:
        """The entries of a mapping that has all of ``names`` and no other, in their order."""
        found, wanted = self.items(), list(names)
        if unknown := [key for key in found if key not in wanted]:
            raise self.error(f"unknown {what} {unknown[0]!r}; expected {', '.join(wanted)}")
        if missing := [key for key in wanted if key not in found]:
            raise self.error(f"nothing for the {what} {missing[0]!r}; expected {', '.join(wanted)}")
        return {key: found[key] for key in wanted}

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.raw, bool) or not isinstance(self.raw, int | float) or not math.isfinite(self.raw):
            raise self.expected("a finite number")
        return float(self.raw)

    def probability(self) -> float:
        """A number from 0 to 1."""
        if not 0 <= self.number() <= 1:
            raise self.expected("a probability from 0 to 1")
        return self.number()


def _table(entry: Entry, own: tuple[str, ...], parents: Values) -> Table:
    """A probability table: a list for a root, otherwise one list for each ``value/value/...`` of the parents."""
    if not parents:
        return Table(np.array(_distribution(entry, own)))
    rows, combinations = entry.items(), ["/".join(values) for values in product(*parents.values())]
    for key, row in rows.items():
        if key not in combinations:
            raise row.error(_unknown_combination(str(key), parents))
    if missing := [key for key in combinations if key not in rows]:
        raise entry.error(f"no row for the parent combination {', '.join(missing)} of {'/'.join(parents)}")
    flat = [_distribution(rows[key], own) for key in combinations]
    return Table(np.array(flat).reshape(*(len(v) for v in parents.values()), len(own)))


def _unknown_combination(key: str, parents: Values) -> str:
    parts = key.split("/")
    if len(parts) != len(parents):
        return f"expected one value for each of the parents {'/'.join(parents)}"
    pairs = zip(parts, parents, strict=True)
    unknown = [f"{v!r} of {p} ({', '.join(parents[p])})" for v, p in pairs if v not in parents[p]]
    hint = '; write values like "no" in quotes' if key in ("True", "False") else ""
    return f"unknown value {' and '.join(unknown)}{hint}"


def _distribution(entry: Entry, own: tuple[str, ...]) -> list[float]:
    if not isinstance(entry.raw, list) or len(entry.raw) != len(own):
        raise entry.expected(f"{len(own)} probabilities, of {', '.join(own)}")
    probabilities = [entry.at(value, p).probability() for value, p in zip(own, entry.raw, strict=True)]
    if abs(sum(probabilities) - 1) > SUM_TOLERANCE:
        raise entry.error(f"probabilities {entry.raw} sum to {sum(probabilities):.10g}, not to 1")
    return probabilities


def _noisy_or(entry: Entry, own: tuple[str, ...], parents: Values) -> NoisyOr:
    """A noisy-OR: leak and one activation probability for each cause."""
    fields = entry.fields(("leak", "causes"))
    return NoisyOr(fields["leak"].probability(), _effects(fields["causes"], parents, Entry.probability))


def _poisson(entry: Entry, own: tuple[str, ...], parents: Values) -> Poisson:
    """A Poisson regression: bias and coefficients, or ``by`` a parent with one regression for each of its values."""
    if not isinstance(entry.raw, dict) or "by" not in entry.raw:
        return Poisson(None, {"": _regression(entry, parents)})
    fields = entry.fields(("by", "models"))
    by = fields["by"].raw
    if by not in parents:
        raise fields["by"].error(f"{by!r} is not a parent; the parents are {', '.join(parents)}")
    rest = {parent: values for parent, values in parents.items() if parent != by}
    models = fields["models"].fields(parents[by], f"value of {by}")
    return Poisson(by, {value: _regression(model, rest) for value, model in models.items()})


def _regression(entry: Entry, parents: Values) -> Logistic:
    """Bias and coefficients."""
    fields = entry.fields(("bias", "coefficients"))
    return Logistic(fields["bias"].number(), _effects(fields["coefficients"], parents, Entry.number))


def _effects(entry: Entry, parents: Values, read: Callable[[Entry], float]) -> Effects:
    """One number for each value of each parent, 0 for the first value."""
    effects = {}
    for parent, effect in entry.fields(parents, "parent").items():
        others = parents[parent][1:]
        if isinstance(effect.raw, dict):
            own = [read(of_value) for of_value in effect.fields(others, "value").values()]
        elif len(others) == 1:
            own = [read(effect)]
        else:
            raise effect.expected(f"one number for each of {', '.join(others)}")
        effects[parent] = (0.0, *own)
    return effects


_KEYS = {"type", "values", "parents", "recorded", "table", "noisy_or", "logistic", "poisson"}
_READERS: dict[str, Callable[[Entry, tuple[str, ...], Values], Distribution]] = {
    "table": _table,
    "noisy_or": _noisy_or,
    "logistic": lambda entry, own, parents: _regression(entry, parents),
    "poisson": _poisson,
}
_STRUCTURE = {"record", "patient", "visit", "day", "date", "gap"}  # columns of records and visits; intervals
_NOTES = {"note", "text", "compact", "attempt", "consistent", "provenance", "kind", "prompt", "mention", "avoid"}
_RESERVED = sorted(_STRUCTURE | _NOTES | {"compact_note", "compact_provenance", "note_spans", "compact_note_spans"})
"""Columns of the tables in which a record's variables stand, and of those that are joined to them."""
_RESERVED_START = "last."
"""Before the name of a variable: its value at the visit before."""


class _UniqueKeyLoader(yaml.SafeLoader):
    """Refuses duplicate keys, of which PyYAML silently keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", node.start_mark)
        return super().construct_mapping(node, deep)


def load_definition(path: Path) -> NetworkDefinition:
    """Read and check a network file.

    Raises NetworkError for anything wrong: a cycle, an unknown parent, type or value, probabilities outside 0-1 or not
    summing to 1, a missing or unknown combination of parent values, a missing or unknown key, a reserved name.
    """
    loaded = read_mapping(path)
    if set(loaded) - {"source"} != {"name", "variables"}:
        found = sorted(map(str, loaded))
        raise NetworkError(f"{path}: expected the keys name, variables and optionally source; found {found}")
    if not isinstance(loaded["variables"], dict) or not loaded["variables"]:
        raise NetworkError(f"{path}: variables must name at least one variable")
    entries = {name: Entry(path, str(name), node) for name, node in loaded["variables"].items()}
    for name, entry in entries.items():
        if name in _RESERVED or str(name).startswith(_RESERVED_START):
            reserved = f"{', '.join(_RESERVED)}, and names that begin with {_RESERVED_START}"
            raise entry.error(f"this name is reserved for a column of the tables; rename it. Reserved are {reserved}")
    return NetworkDefinition(str(loaded["name"]), read_variables(entries), str(loaded.get("source", "")))


def read_mapping(path: Path) -> dict[Any, Any]:
    """The mapping in a YAML file without duplicate keys. Raises NetworkError."""
    try:
        text = path.read_text(encoding="utf-8")
        compose_yaml(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        loaded = yaml.load(text, Loader=_UniqueKeyLoader)
    except OSError as error:
        raise NetworkError(f"{path}: cannot be read ({error.strerror}); give the path of a network file") from error
    except (yaml.YAMLError, ValueError) as error:
        raise NetworkError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(loaded, dict):
        raise NetworkError(f"{path}: expected a mapping; found {type(loaded).__name__}")
    return loaded


def read_variables(entries: Mapping[str, Entry], known: Mapping[str, Variable] | None = None) -> dict[str, Variable]:
    """The variables of ``entries``, whose parents are among them or ``known``. Raises NetworkError."""
    for name, entry in entries.items():
        _check_head(entry, name)
    values = {name: variable.values for name, variable in (known or {}).items()}
    values |= {name: _read_values(entry) for name, entry in entries.items()}
    parents = {name: _read_parents(entry, values) for name, entry in entries.items()}
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]
        at = entries[cycle[0]].at("parents", None)
        raise at.error(f"cycle {' <- '.join(cycle)}; remove one of these parents") from None
    found = {}
    for name, entry in entries.items():
        distribution = _read_distribution(entry, values[name], {parent: values[parent] for parent in parents[name]})
        recorded = entry.raw.get("recorded", True)
        found[name] = Variable(name, entry.raw["type"], values[name], parents[name], distribution, recorded)
    return found


def _check_head(entry: Entry, name: object) -> None:
    """Check name, keys and type of one node."""
    if not isinstance(name, str) or not name:
        raise entry.error(f"a variable's name is {name!r}; expected a string, in quotes if need be")
    node = entry.raw
    if not isinstance(node, dict):
        raise entry.error("expected type, values and a distribution")
    if unknown := set(node) - _KEYS:
        raise entry.error(f"unknown key {sorted(map(str, unknown))}; expected {sorted(_KEYS)}")
    if node.get("type") not in VARIABLE_TYPES:
        raise entry.at("type", node.get("type")).expected(f"one of {', '.join(VARIABLE_TYPES)}")
    if not isinstance(node.get("recorded", True), bool):
        raise entry.at("recorded", node["recorded"]).expected("true or false")


def _read_values(entry: Entry) -> tuple[str, ...]:
    values = entry.raw.get("values")
    if values == "count":
        return ()
    entry = entry.at("values", values)
    if not isinstance(values, list) or len(values) < 2:
        raise entry.expected("a list of at least two values, or count")
    for value in values:
        if not isinstance(value, str) or not value or "/" in value:
            raise entry.error(f"found {value!r}; a value must be a string without a slash, in quotes if need be")
    if len(set(values)) < len(values):
        raise entry.error(f"duplicate value in {values}")
    return tuple(values)


def _read_parents(entry: Entry, values: Values) -> tuple[str, ...]:
    parents = entry.raw.get("parents", [])
    entry = entry.at("parents", parents)
    if not isinstance(parents, list):
        raise entry.expected("a list of variables")
    for parent in parents:
        if not isinstance(parent, str) or parent not in values:
            raise entry.error(f"unknown parent {parent!r}; the file has {', '.join(values)}")
        if not values[parent]:
            raise entry.error(f"{parent} is a count, which cannot be a parent; give it a list of values")
    if len(set(parents)) < len(parents):
        raise entry.error(f"duplicate parent in {parents}")
    return tuple(parents)


def _read_distribution(entry: Entry, own: tuple[str, ...], parents: Values) -> Distribution:
    kinds = [kind for kind in _READERS if kind in entry.raw]
    if len(kinds) != 1:
        raise entry.error(f"found {kinds or 'no distribution'}; expected exactly one of {', '.join(_READERS)}")
    (kind,) = kinds
    at = entry.at(kind, entry.raw[kind])
    if (kind == "poisson") != (not own):
        raise at.error("poisson requires values: count, and values: count requires poisson")
    if kind in ("noisy_or", "logistic") and len(own) != 2:
        raise at.error(f"needs two values, found {list(own)}")
    return _READERS[kind](at, own, parents)
