"""Score of an omitted fact, and the difference of two differentials (MED-OMIT, Section 3).

Paragraphs "Fact Importance Quantification", "Fact Uniqueness" and "Fact Cumulative Score"; comparing differentials is
the paper's alternative to counting omissions.

`DiagnosisNames` recognises the same diagnosis under different names.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
import numpy.typing as npt
import yaml

Category = Literal["critical", "important", "other"]
Variant = Literal["paper", "released"]
Stance = Literal["supports", "refutes"]
Likelihood = Literal["probable", "possible", "unlikely"]
LIKELIHOODS: tuple[Likelihood, ...] = ("unlikely", "possible", "probable")
"""Likelihoods of a diagnosis from least to most likely."""

IMPORTANCE: Mapping[str, float] = {"critical": 1.0, "important": 0.5, "other": 0.1}
"""Penalty for omitting a fact of each category (Section 3, "Fact Cumulative Score")."""
CATEGORIES: tuple[Category, ...] = ("other", "important", "critical")
"""Categories from least to most important."""


@dataclass(frozen=True)
class Cluster:
    """A sub-cluster: facts that support (or refute) one diagnosis through one pathophysiological mechanism."""

    diagnosis: str
    stance: Stance
    mechanism: str
    facts: frozenset[str]


def uniqueness(fact: str, clusters: Iterable[Cluster], *, variant: Variant = "paper") -> list[float]:
    """1/|S| for each sub-cluster S with the fact; as released, also 1/(number of diagnoses that list the fact)."""
    holding = [cluster for cluster in clusters if fact in cluster.facts]
    scores = [1 / len(cluster.facts) for cluster in holding]
    if variant == "released" and holding:
        scores.append(1 / len({cluster.diagnosis for cluster in holding}))
    return scores


def fact_score(category: Category, uniquenesses: Sequence[float]) -> float:
    """max(i_f, u_f^0 ... u_f^k): the largest of a fact's importance and its uniqueness scores."""
    return max([IMPORTANCE[category], *uniquenesses])


def differential_difference(source: Mapping[str, Likelihood], summary: Mapping[str, Likelihood]) -> dict[str, float]:
    """Compare the differential of a summary with the differential of its source, both diagnosis -> likelihood.

    ``lost``: share of the source's diagnoses that are missing from the summary's differential. ``added``: share of the
    summary's diagnoses that are new. ``shifted``: mean distance between the likelihood categories of the shared
    diagnoses, scaled to 0-1. Each is 0 when there is no diagnosis to compare.
    """
    shared = sorted(source.keys() & summary.keys())
    steps = [abs(LIKELIHOODS.index(source[name]) - LIKELIHOODS.index(summary[name])) for name in shared]
    return {
        "lost": len(source.keys() - summary.keys()) / len(source) if source else 0.0,
        "added": len(summary.keys() - source.keys()) / len(summary) if summary else 0.0,
        "shifted": sum(steps) / (len(LIKELIHOODS) - 1) / len(shared) if shared else 0.0,
    }


Encode = Callable[[Sequence[str]], npt.NDArray[np.float32]]
"""Unit vectors of names, shape (names, dimension)."""


@dataclass(frozen=True)
class DiagnosisNames:
    """The diagnoses of a differential, in lower case.

    A name is recognised exactly, then without regard to parentheses and punctuation, then by its synonyms in any order
    of words, then by the cosine of its vector with a known name's (``encode``), if that is at least ``threshold``.
    """

    names: tuple[str, ...]
    encode: Encode
    threshold: float

    def known(self, given: str) -> str:
        """The differential's name of a diagnosis. Raises ValueError for one that it does not have."""
        found = self.match([given])[0]
        if found is None:
            raise ValueError(f"{given!r} is not a diagnosis of the differential: {', '.join(self.names)}")
        return found

    def match(self, given: Sequence[str]) -> list[str | None]:
        """The differential's name of each diagnosis, or None. Two given diagnoses never share a name."""
        found: list[str | None] = [None] * len(given)
        for form in (_lower, _without_parentheses, canonical):
            forms = Counter(form(name) for name in self.names)
            left = {form(name): name for name in self.names if name not in found and forms[form(name)] == 1}
            for at, name in enumerate(given):
                if found[at] is None and form(name):
                    found[at] = left.pop(form(name), None)
        rows = [at for at, name in enumerate(found) if name is None]
        left_over = [name for name in self.names if name not in found]
        if rows and left_over:
            for at, name in self._most_similar([given[at] for at in rows], left_over):
                found[rows[at]] = name
        return found

    def _most_similar(self, given: Sequence[str], names: Sequence[str]) -> list[tuple[int, str]]:
        """Pairs of similar names, the most similar first; each is in one pair at most."""
        vectors = self.encode([_lower(name) for name in (*given, *names)])
        cosines = np.array(vectors[: len(given)] @ vectors[len(given) :].T, dtype=float)
        pairs = []
        while cosines.max() >= self.threshold:
            row, column = np.unravel_index(int(cosines.argmax()), cosines.shape)
            pairs.append((int(row), names[int(column)]))
            cosines[row, :] = cosines[:, column] = -np.inf
        return pairs


def renamed(differential: Mapping[str, Likelihood], names: DiagnosisNames) -> dict[str, Likelihood]:
    """``differential`` with the diagnoses that ``names`` recognises under its names, the others as they are."""
    matched = names.match(list(differential))
    return {name or own: differential[own] for own, name in zip(differential, matched, strict=True)}


def merged(differential: Iterable[tuple[str, Likelihood]]) -> dict[str, Likelihood]:
    """A differential in lower case with synonyms as one diagnosis: the first name, and the highest likelihood."""
    found: dict[str, Likelihood] = {}
    names: dict[str, str] = {}
    for given, likelihood in differential:
        name = names.setdefault(canonical(given), _lower(given))
        found[name] = max(found.get(name, likelihood), likelihood, key=LIKELIHOODS.index)
    return found


def canonical(name: str) -> str:
    """A form that synonyms share: words in alphabetic order, of the first name in synonyms.yaml if that has the name.

    Parentheses hold another name (``gastroesophageal reflux disease (GERD)``) or a comment, which is left out.
    """
    outside = _in_order(_without_parentheses(name))
    others = [_in_order(inside.lower()) for inside in re.findall(r"\(([^)]*)\)", name)]
    known = (_synonyms()[form] for form in (outside, *others) if form in _synonyms())
    return next(known, outside)


@cache
def _synonyms() -> dict[str, str]:
    rows = yaml.safe_load(files(__package__).joinpath("synonyms.yaml").read_text(encoding="utf-8"))
    return {_in_order(str(name)): _in_order(str(row[0])) for row in rows for name in row}


def _in_order(name: str) -> str:
    return " ".join(sorted(re.findall(r"\w+", name)))


def _lower(name: str) -> str:
    return " ".join(name.lower().split())


def _without_parentheses(name: str) -> str:
    return " ".join(re.findall(r"\w+", re.sub(r"\([^)]*\)", " ", name.lower())))
