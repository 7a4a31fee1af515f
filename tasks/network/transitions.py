"""Reads and checks a domain's transitions: the network's second slice, given the visit before (Dean and Kanazawa 1989).

``transitions.yaml`` names the constant variables, those that each visit draws anew from the network, the interval
between visits, and a distribution of every other variable given present variables, ``last.X`` (the value of X at the
visit before) and ``gap`` (the interval since).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schemas.errors import NetworkError
from tasks.network.definition import Entry, read_mapping, read_variables
from tasks.network.graph import NetworkDefinition, Table, Variable

LAST = "last."
"""Before the name of a variable: its value at the visit before."""
GAP = "gap"
"""The interval between two visits, as one of a few ranges of days."""
_KEYS = {"source", "constant", "redrawn", GAP, "variables"}


@dataclass(frozen=True, eq=False)
class Transitions:
    """The second slice of a network over time.

    ``slice`` has the present variables but for the constant ones, their parents ``last.X``, the constant variables that
    are parents, and ``gap``. Constants and ``last.X`` are roots that are always observed; their distributions are not
    used. ``days``: the shortest and longest interval in days by value of ``gap``; all days of a range are equally
    likely.
    """

    constant: tuple[str, ...]
    slice: NetworkDefinition
    days: dict[str, tuple[int, int]]
    sources: dict[str, str]

    @property
    def drawn(self) -> tuple[str, ...]:
        """What a later visit draws, ``gap`` included, in topological order."""
        return tuple(name for name in self.slice.order if not name.startswith(LAST) and name not in self.constant)

    @property
    def carried(self) -> tuple[str, ...]:
        """The variables whose last value a visit depends on, in order."""
        return tuple(name.removeprefix(LAST) for name in self.slice.variables if name.startswith(LAST))


def read_transitions(path: Path, network: NetworkDefinition) -> Transitions:
    """Read the transitions of ``network``.

    Raises NetworkError for anything wrong: a variable without a second slice or with two, a variable that is not in the
    network, a missing source, ranges of days that overlap, or what `load_definition` rejects in a distribution.
    """
    loaded = read_mapping(path)
    if set(loaded) != _KEYS:
        raise NetworkError(f"{path}: expected the keys {', '.join(sorted(_KEYS))}; found {sorted(map(str, loaded))}")
    constant, redrawn = (_names(Entry(path, key, loaded[key]), network) for key in ("constant", "redrawn"))
    listed = Entry(path, "variables", loaded["variables"]).items()
    changing = {str(name): Entry(path, str(name), entry.raw) for name, entry in listed.items()}
    _check_complete(path, network, {"constant": constant, "redrawn": redrawn, "variables": tuple(changing)})
    gap, days, gap_source = _read_gap(Entry(path, GAP, loaded[GAP]))
    sources = {GAP: gap_source}
    raw: dict[str, Any] = {GAP: gap}
    for name, entry in changing.items():
        raw[name], sources[name] = _without_source(entry)
        if wrong := {"type", "values", "recorded"} & set(raw[name]):
            raise entry.at(min(wrong), raw[name][min(wrong)]).error("it is as in network.yaml; remove it")
        raw[name] |= {"type": network.type_of(name), "values": list(network.values(name)) or "count"}
    carried = [name for name in (*changing, *redrawn) if not network.is_count(name)]
    known = {LAST + name: _given(network, name, LAST + name) for name in carried}
    known |= {name: _given(network, name, name) for name in constant}
    known |= {name: network.variable(name) for name in redrawn}
    found = known | read_variables({name: Entry(path, name, node) for name, node in raw.items()}, known)
    # the variables in the network's order, after those of the visit before that are parents
    used = {parent for node in found.values() for parent in node.parents}
    names = [*(name for name in found if name.startswith(LAST) and name in used), GAP, *network.variables]
    second = NetworkDefinition(f"{network.name}, transitions", {name: found[name] for name in names})
    return Transitions(constant, second, days, sources)


def _names(entry: Entry, network: NetworkDefinition) -> tuple[str, ...]:
    if not isinstance(entry.raw, list):
        raise entry.expected("a list of variables")
    for name in entry.raw:
        if name not in network.variables:
            raise entry.error(f"unknown variable {name!r}; network.yaml has {', '.join(network.variables)}")
        if entry.node == "constant" and network.is_count(name):
            raise entry.error(f"{name} is a count, which is drawn anew at each visit")
    return tuple(entry.raw)


def _check_complete(path: Path, network: NetworkDefinition, parts: dict[str, tuple[str, ...]]) -> None:
    for name in network.variables:
        keys = [key for key, names in parts.items() for one in names if one == name]
        if len(keys) != 1:
            found = " and ".join(keys) or "no key"
            raise NetworkError(f"{path}: node {name}: found under {found}; expected exactly one of {', '.join(parts)}")
    for name in parts["variables"]:
        if name not in network.variables:
            raise NetworkError(f"{path}: node {name}: not in network.yaml, which has {', '.join(network.variables)}")


def _without_source(entry: Entry) -> tuple[dict[str, Any], str]:
    """A node without its key source, and the source; "assumed" is one."""
    fields = {key: one.raw for key, one in entry.items().items()}
    source = fields.pop("source", None)
    if not isinstance(source, str) or not source.strip():
        raise entry.error("state the source of its probabilities, or source: assumed")
    return fields, source


def _read_gap(entry: Entry) -> tuple[dict[str, Any], dict[str, tuple[int, int]], str]:
    fields, source = _without_source(entry)
    days, least = dict[str, tuple[int, int]](), 1
    for value, one in entry.at("days", fields.pop("days", None)).items().items():
        low, high = one.raw if isinstance(one.raw, list) and len(one.raw) == 2 else (0, 0)
        if not (isinstance(low, int) and isinstance(high, int) and least <= low <= high):
            raise one.expected(f"[shortest, longest] in whole days, from {least} up")
        days[str(value)], least = (low, high), high + 1
    return {**fields, "type": "non-clinical", "values": list(days)}, days, source


def _given(network: NetworkDefinition, name: str, called: str) -> Variable:
    """A root with the values of a variable, known from the visit before; its distribution is not used."""
    values = network.values(name)
    return Variable(called, network.type_of(name), values, (), Table(np.full(len(values), 1 / len(values))))
