"""Reads the distribution of one node from a network file; errors name the entry."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from schemas.errors import NetworkError
from tasks.network.distributions import Effects, Logistic, NoisyOr, Poisson, Regression, Table

Values = dict[str, tuple[str, ...]]
"""The values of each parent, in the order of the parents."""

SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Entry:
    """A position in a network file."""

    file: str
    node: str
    path: tuple[str, ...] = ()

    def at(self, *keys: object) -> "Entry":
        """The entry below this one at ``keys``."""
        return replace(self, path=(*self.path, *map(str, keys)))

    def error(self, message: str) -> NetworkError:
        """An error that names file, node and entry."""
        where = f", entry {'.'.join(self.path)}" if self.path else ""
        return NetworkError(f"{self.file}: node {self.node}{where}: {message}")


def read_table(at: Entry, raw: Any, own: tuple[str, ...], parents: Values) -> Table:
    """A probability table: a list for a root, otherwise one list for each ``value/value/...`` of the parents."""
    if not parents:
        return Table(np.array(_distribution(at, raw, own)))
    rows = _mapping(at, raw)
    combinations = {"/".join(values): values for values in product(*parents.values())}
    for key in rows:
        if key not in combinations:
            raise at.at(key).error(_unknown_combination(str(key), parents))
    missing = [key for key in combinations if key not in rows]
    if missing:
        raise at.error(f"no row for the parent combination {', '.join(missing)} of {'/'.join(parents)}")
    flat = [_distribution(at.at(key), rows[key], own) for key in combinations]
    return Table(np.array(flat).reshape(*(len(v) for v in parents.values()), len(own)))


def _unknown_combination(key: str, parents: Values) -> str:
    parts = key.split("/")
    if len(parts) != len(parents):
        return f"expected one value for each of the parents {'/'.join(parents)}"
    unknown = [
        f"{v!r} of {p} ({', '.join(parents[p])})" for v, p in zip(parts, parents, strict=True) if v not in parents[p]
    ]
    hint = '; write values like "no" in quotes' if key in ("True", "False") else ""
    return f"unknown value {' and '.join(unknown)}{hint}"


def _distribution(at: Entry, raw: Any, own: tuple[str, ...]) -> list[float]:
    if not isinstance(raw, list) or len(raw) != len(own):
        raise at.error(f"found {raw!r}; expected {len(own)} probabilities, of {', '.join(own)}")
    probabilities = [_probability(at.at(value), p) for value, p in zip(own, raw, strict=True)]
    if abs(sum(probabilities) - 1) > SUM_TOLERANCE:
        raise at.error(f"probabilities {raw} sum to {sum(probabilities):.10g}, not to 1")
    return probabilities


def read_noisy_or(at: Entry, raw: Any, own: tuple[str, ...], parents: Values) -> NoisyOr:
    """A noisy-OR: leak and one activation probability for each cause."""
    fields = _fields(at, raw, "leak", "causes")
    causes = _effects(at.at("causes"), fields["causes"], parents)
    for parent, effects in causes.items():
        for value, effect in zip(parents[parent], effects, strict=True):
            _probability(at.at("causes", parent, value), effect)
    return NoisyOr(_probability(at.at("leak"), fields["leak"]), causes)


def read_logistic(at: Entry, raw: Any, own: tuple[str, ...], parents: Values) -> Logistic:
    """A logistic regression: bias and coefficients."""
    return Logistic(_regression(at, raw, parents))


def read_poisson(at: Entry, raw: Any, own: tuple[str, ...], parents: Values) -> Poisson:
    """A Poisson regression: bias and coefficients, or ``by`` a parent with one regression for each of its values."""
    if not isinstance(raw, dict) or "by" not in raw:
        return Poisson(None, {"": _regression(at, raw, parents)})
    fields = _fields(at, raw, "by", "models")
    by = fields["by"]
    if by not in parents:
        raise at.at("by").error(f"{by!r} is not a parent; the parents are {', '.join(parents)}")
    rest = {parent: values for parent, values in parents.items() if parent != by}
    raw_models = _mapping(at.at("models"), fields["models"])
    _same_keys(at.at("models"), raw_models, parents[by], f"value of {by}")
    return Poisson(by, {value: _regression(at.at("models", value), raw_models[value], rest) for value in parents[by]})


def _regression(at: Entry, raw: Any, parents: Values) -> Regression:
    fields = _fields(at, raw, "bias", "coefficients")
    return Regression(
        _number(at.at("bias"), fields["bias"]), _effects(at.at("coefficients"), fields["coefficients"], parents)
    )


def _effects(at: Entry, raw: Any, parents: Values) -> Effects:
    """One number for each value of each parent, 0 for the first value."""
    effects = _mapping(at, raw)
    _same_keys(at, effects, tuple(parents), "parent")
    return {parent: _of_values(at.at(parent), effects[parent], values) for parent, values in parents.items()}


def _of_values(at: Entry, raw: Any, values: tuple[str, ...]) -> tuple[float, ...]:
    if not isinstance(raw, dict):
        if len(values) != 2:
            raise at.error(f"found {raw!r}; expected one number for each of {', '.join(values[1:])}")
        return (0.0, _number(at, raw))
    _same_keys(at, raw, values[1:], "value")
    return (0.0, *(_number(at.at(value), raw[value]) for value in values[1:]))


def _fields(at: Entry, raw: Any, *names: str) -> dict[str, Any]:
    fields = _mapping(at, raw)
    _same_keys(at, fields, names, "key")
    return fields


def _same_keys(at: Entry, found: dict[str, Any], expected: Sequence[str], what: str) -> None:
    unknown = [key for key in found if key not in expected]
    if unknown:
        raise at.error(f"unknown {what} {unknown[0]!r}; expected {', '.join(expected)}")
    missing = [key for key in expected if key not in found]
    if missing:
        raise at.error(f"nothing for the {what} {missing[0]!r}; expected {', '.join(expected)}")


def _mapping(at: Entry, raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise at.error(f"found {raw!r}; expected a mapping")
    return raw


def _number(at: Entry, raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        raise at.error(f"found {raw!r}; expected a finite number")
    return float(raw)


def _probability(at: Entry, raw: Any) -> float:
    number = _number(at, raw)
    if not 0 <= number <= 1:
        raise at.error(f"found {raw!r}; expected a probability from 0 to 1")
    return number
