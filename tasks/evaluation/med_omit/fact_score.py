"""MED-OMIT (Schumacher et al. 2024): omissions of a summary, weighted by what they would change in the differential.

Section 3, "Fact Importance Quantification", "Fact Uniqueness" and "Fact Cumulative Score".
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Category = Literal["critical", "important", "other"]
Variant = Literal["paper", "released"]

IMPORTANCE: Mapping[str, float] = {"critical": 1.0, "important": 0.5, "other": 0.1}
"""Penalty of an omitted fact by its category (Section 3, "Fact Cumulative Score")."""
CATEGORIES: tuple[Category, ...] = ("other", "important", "critical")
"""Categories in rising order."""


@dataclass(frozen=True)
class Cluster:
    """Facts that support (or refute) one diagnosis through one pathophysiological mechanism: a sub-cluster."""

    diagnosis: str
    stance: Literal["supports", "refutes"]
    mechanism: str
    facts: frozenset[str]


def uniqueness(fact: str, clusters: Iterable[Cluster], *, variant: Variant = "paper") -> list[float]:
    """1/|S| for each sub-cluster S that holds the fact; empty for a fact in none.

    The released code also takes 1/(number of diagnoses that list the fact); ``variant`` "released" adds it.
    """
    holding = [cluster for cluster in clusters if fact in cluster.facts]
    scores = [1 / len(cluster.facts) for cluster in holding]
    if variant == "released" and holding:
        scores.append(1 / len({cluster.diagnosis for cluster in holding}))
    return scores


def fact_score(category: Category, uniquenesses: Sequence[float]) -> float:
    """max(i_f, u_f^0 ... u_f^k): the larger of a fact's importance and its uniqueness scores."""
    return max([IMPORTANCE[category], *uniquenesses])


def document_score(
    omitted: Collection[str],
    categories: Mapping[str, Category],
    clusters: Sequence[Cluster],
    *,
    variant: Variant = "paper",
) -> float:
    """Sum over the omitted facts of their scores: the weighted count of omissions; 0 without omissions.

    Raises KeyError for an omitted fact without a category: a failed judgement is left out before, never scored here.
    """
    return sum(fact_score(categories[fact], uniqueness(fact, clusters, variant=variant)) for fact in omitted)
