"""A Bayesian network as data: its variables in the order of the file, their parents and their distributions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from schemas.errors import NetworkError
from tasks.network.distributions import (
    Distribution,
    Floats,
    Poisson,
    Table,
    log_poisson_categories,
    log_two_values,
    poisson_rates,
)

VARIABLE_TYPES = ("underlying condition", "diagnosis", "symptom", "non-clinical", "treatment", "outcome")


@dataclass(frozen=True, eq=False)
class Variable:
    """One variable. ``values`` is empty for a count (0, 1, 2, ...); ``recorded``: a realistic record contains it."""

    name: str
    type: str
    values: tuple[str, ...]
    parents: tuple[str, ...]
    distribution: Distribution
    recorded: bool = True

    @property
    def is_count(self) -> bool:
        """Whether the variable is a count and has no list of values."""
        return isinstance(self.distribution, Poisson)


@dataclass(frozen=True, eq=False)
class NetworkDefinition:
    """A Bayesian network, true or fitted. `tasks.network.definition` reads and checks one."""

    name: str
    nodes: Mapping[str, Variable]
    source: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in the order of the file, which is the column order of the record table."""
        return tuple(self.nodes)

    def variable(self, name: str) -> Variable:
        """One variable; raises NetworkError for an unknown name."""
        if name not in self.nodes:
            raise NetworkError(f"network {self.name}: no variable {name!r}; it has {', '.join(self.nodes)}")
        return self.nodes[name]

    def values(self, name: str) -> tuple[str, ...]:
        """The values of a variable in order, the reference first; empty for a count."""
        return self.variable(name).values

    def parents(self, name: str) -> tuple[str, ...]:
        """The parents (direct causes) of a variable."""
        return self.variable(name).parents

    def type_of(self, name: str) -> str:
        """The type of a variable, one of VARIABLE_TYPES."""
        return self.variable(name).type

    def of_type(self, *types: str) -> tuple[str, ...]:
        """The variables of these types, in order."""
        return tuple(name for name, node in self.nodes.items() if node.type in types)

    def is_count(self, name: str) -> bool:
        """Whether a variable is a count."""
        return self.variable(name).is_count

    def is_unbounded(self, name: str) -> bool:
        """Whether a variable is a count that is not put in categories."""
        node = self.variable(name).distribution
        return isinstance(node, Poisson) and node.top is None

    def is_recorded(self, name: str) -> bool:
        """Whether a realistic patient record contains a variable."""
        return self.variable(name).recorded

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables in topological order; ties in the order of the file."""
        placed: dict[str, None] = {}
        while len(placed) < len(self.nodes):
            placed.update(
                (name, None)
                for name, node in self.nodes.items()
                if name not in placed and all(parent in placed for parent in node.parents)
            )
        return tuple(placed)

    def ancestors(self, names: Iterable[str]) -> frozenset[str]:
        """All ancestors of ``names``; includes a name of ``names`` only where it is an ancestor of another."""
        found: set[str] = set()
        waiting = [parent for name in names for parent in self.parents(name)]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self.parents(name))
        return frozenset(found)

    def cards(self, names: Iterable[str]) -> tuple[int, ...]:
        """The number of values of each variable; top + 1 for a count in categories."""
        return tuple(self._card(self.variable(name)) for name in names)

    def _card(self, node: Variable) -> int:
        if isinstance(node.distribution, Poisson):
            if node.distribution.top is None:
                raise NetworkError(
                    f"network {self.name}: {node.name} is an unbounded count without a list of values; "
                    "use a network with this count in categories (in_categories)"
                )
            return node.distribution.top + 1
        return len(node.values)

    def rates(self, name: str) -> Floats:
        """The Poisson rates of a count, shape (cards of the parents ...)."""
        node = self.variable(name)
        if not isinstance(node.distribution, Poisson):
            raise NetworkError(f"network {self.name}: {name} is not a count")
        values = {parent: self.values(parent) for parent in node.parents}
        return poisson_rates(node.distribution, node.parents, self.cards(node.parents), values)

    def log_conditional(self, name: str) -> Floats:
        """log P(value | parents), shape (cards of the parents ..., card); -inf for probability zero."""
        node = self.variable(name)
        if isinstance(node.distribution, Table):
            with np.errstate(divide="ignore"):
                return np.log(node.distribution.probabilities)
        if isinstance(node.distribution, Poisson):
            return log_poisson_categories(self.rates(name), self._card(node) - 1)
        return log_two_values(node.distribution, node.parents, self.cards(node.parents))

    def with_variables(self, variables: Iterable[Variable], *, name: str | None = None) -> "NetworkDefinition":
        """The same network with some variables replaced by others of the same name."""
        return replace(self, name=name or self.name, nodes={**self.nodes, **{v.name: v for v in variables}})


def in_categories(network: NetworkDefinition, tops: Mapping[str, int | None]) -> NetworkDefinition:
    """The network with counts in categories 0, 1, ..., "top or more" (Appendix F.1); ``tops`` by variable.

    A top of None makes the count unbounded again.
    """
    changed = []
    for name, top in tops.items():
        node = network.variable(name)
        if not isinstance(node.distribution, Poisson):
            raise NetworkError(f"network {network.name}: {name} is not a count; only a count can be put in categories")
        changed.append(replace(node, distribution=replace(node.distribution, top=top)))
    return network.with_variables(changed)


def intervene(network: NetworkDefinition, name: str, value: str) -> NetworkDefinition:
    """The network under do(name = value): the variable takes the value and loses its causes (Pearl 2009, chapter 3)."""
    node = network.variable(name)
    if value not in node.values:
        raise NetworkError(f"network {network.name}: {name} has no value {value!r}; it has {', '.join(node.values)}")
    point = Table(np.array([float(v == value) for v in node.values]))
    return network.with_variables([replace(node, parents=(), distribution=point)])
