"""Difference of two differentials: MED-OMIT's alternative to counting omissions (Section 3)."""

from collections.abc import Mapping
from typing import Literal

Likelihood = Literal["probable", "possible", "unlikely"]
LIKELIHOODS: tuple[Likelihood, ...] = ("unlikely", "possible", "probable")


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
