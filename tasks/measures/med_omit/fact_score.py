"""Score of an omitted fact and of a document, and the difference of two differentials (MED-OMIT, Section 3).

Paragraphs "Fact Importance Quantification", "Fact Uniqueness" and "Fact Cumulative Score"; comparing differentials is
the paper's alternative to counting omissions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

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
    """1/|S| for each sub-cluster S that contains the fact; empty if no sub-cluster does.

    ``variant`` "released" appends 1/(number of diagnoses that list the fact), as the released code does.
    """
    holding = [cluster for cluster in clusters if fact in cluster.facts]
    scores = [1 / len(cluster.facts) for cluster in holding]
    if variant == "released" and holding:
        scores.append(1 / len({cluster.diagnosis for cluster in holding}))
    return scores


def fact_score(category: Category, uniquenesses: Sequence[float]) -> float:
    """max(i_f, u_f^0 ... u_f^k): the largest of a fact's importance and its uniqueness scores."""
    return max([IMPORTANCE[category], *uniquenesses])


def document_score(omitted: npt.ArrayLike) -> float:
    """Sum of the scores of a document's omitted facts; 0 without omissions, nan if an omitted fact has no score."""
    return float(np.sum(np.asarray(omitted, dtype=float)))


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
