"""A Bayesian network as data: its variables in the order of the file, their parents and their distributions.

The four kinds of conditional distribution (SimSUM, Section 2.1) are evaluated as arrays, whose axes are the node's
parents in order; the values of a categorical node come last.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaln

from schemas.errors import NetworkError

Floats = npt.NDArray[np.float64]
Effects = Mapping[str, tuple[float, ...]]
"""By parent, one number for each of its values; 0 for the first, the reference."""


@dataclass(frozen=True, eq=False)
class Table:
    """A conditional probability table, shape (cards of the parents ..., card); rows sum to 1."""

    probabilities: Floats


@dataclass(frozen=True)
class NoisyOr:
    """P(second value) = 1 - (1 - leak) * product of (1 - p) over present causes (Equation 2)."""

    leak: float
    causes: Effects


@dataclass(frozen=True)
class Regression:
    """A linear predictor: bias plus one coefficient for each value of each parent."""

    bias: float
    coefficients: Effects


@dataclass(frozen=True)
class Logistic(Regression):
    """P(second value) = sigmoid(linear predictor) (Equation 7)."""


@dataclass(frozen=True)
class Poisson:
    """A count with rate exp(linear predictor); one model for each value of the parent ``by`` (Equations 8 and 9).

    ``models`` has one entry, under "", where ``by`` is None. ``top`` is the last category of a count in categories:
    "top or more" (Appendix F.1); None for the unbounded count.
    """

    by: str | None
    models: Mapping[str, Regression]
    top: int | None = None


Distribution = Table | NoisyOr | Logistic | Poisson


def predictor(base: float, effects: Effects, parents: Sequence[str], cards: Sequence[int]) -> Floats:
    """``base`` plus the effects of the parents' values, shape ``cards``; parents without effects add 0."""
    total = np.full(tuple(cards), base, dtype=float)
    for axis, parent in enumerate(parents):
        if parent in effects:
            shape = [1] * len(parents)
            shape[axis] = cards[axis]
            total = total + np.asarray(effects[parent], dtype=float).reshape(shape)
    return total


def log_poisson(rates: Floats, counts: npt.ArrayLike) -> Floats:
    """log P(count | rate); ``rates`` and ``counts`` broadcast."""
    k = np.asarray(counts, dtype=float)
    return k * np.log(rates) - rates - gammaln(k + 1)


def log_poisson_categories(rates: Floats, top: int) -> Floats:
    """log P of the categories 0, 1, ..., top - 1, "top or more", on a new last axis (Appendix F.1)."""
    below = log_poisson(rates[..., None], np.arange(top))
    # P(count >= top) is the regularised lower incomplete gamma function, which loses no digits as 1 - sum would.
    with np.errstate(divide="ignore"):
        tail = np.log(gammainc(top, rates))
    return np.concatenate([below, tail[..., None]], axis=-1)


def log_two_values(node: NoisyOr | Logistic, parents: Sequence[str], cards: Sequence[int]) -> Floats:
    """log P of both values of a noisy-OR or logistic node, shape (cards ..., 2)."""
    with np.errstate(divide="ignore"):
        if isinstance(node, NoisyOr):
            losses = {parent: tuple(-np.log1p(-p) for p in ps) for parent, ps in node.causes.items()}
            hazard = predictor(-np.log1p(-node.leak), losses, parents, cards)
            return np.stack([-hazard, np.log(-np.expm1(-hazard))], axis=-1)
        eta = predictor(node.bias, node.coefficients, parents, cards)
        return np.stack([-np.logaddexp(0, eta), -np.logaddexp(0, -eta)], axis=-1)


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
        by, models, cards = node.distribution.by, node.distribution.models, self.cards(node.parents)
        logs = {value: predictor(m.bias, m.coefficients, node.parents, cards) for value, m in models.items()}
        if by is None:
            return np.exp(logs[""])
        axis = node.parents.index(by)
        return np.exp(np.stack([logs[value].take(i, axis) for i, value in enumerate(self.values(by))], axis))

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


EvidenceSetting = Literal["all", "no-sympt", "realistic"]
EVIDENCE_SETTINGS: tuple[EvidenceSetting, ...] = get_args(EvidenceSetting)
"""SimSUM's evidence settings (Section 3.2): the variables from which one is predicted."""


def evidence_columns(definition: NetworkDefinition, target: str, setting: EvidenceSetting) -> list[str]:
    """Evidence variables for ``target`` in a setting, in the order of the definition.

    ``all``: every other variable. ``no-sympt``: all except symptoms. ``realistic``: those of ``no-sympt`` that a
    realistic patient record would contain. Raises NetworkError for an unknown target or setting.
    """
    if target not in definition.variables:
        raise NetworkError(f"no variable {target!r} to predict; the network has {', '.join(definition.variables)}")
    others = [name for name in definition.variables if name != target]
    if setting == "all":
        return others
    without = [name for name in others if definition.type_of(name) != "symptom"]
    if setting == "no-sympt":
        return without
    if setting == "realistic":
        return [name for name in without if definition.is_recorded(name)]
    raise NetworkError(f"unknown evidence setting {setting!r}; expected one of {', '.join(EVIDENCE_SETTINGS)}")
