"""How far two differentials differ: MED-OMIT's alternative to counting omissions (Section 3)."""

from collections.abc import Mapping
from typing import Literal

Likelihood = Literal["probable", "possible", "unlikely"]
LIKELIHOODS: tuple[Likelihood, ...] = ("unlikely", "possible", "probable")


def differential_difference(source: Mapping[str, Likelihood], summary: Mapping[str, Likelihood]) -> dict[str, float]:
    """How far the differential made from the summary departs from that made from the source (Section 3, alternative).

    ``lost``: share of the source's diagnoses that the summary's lacks; ``added``: share of the summary's that are new;
    ``shifted``: mean distance of the likelihood categories of shared diagnoses, from 0 to 1. A share of no diagnoses
    is 0: nothing could be lost or added.
    """
    shared = sorted(source.keys() & summary.keys())
    steps = [abs(LIKELIHOODS.index(source[name]) - LIKELIHOODS.index(summary[name])) for name in shared]
    return {
        "lost": len(source.keys() - summary.keys()) / len(source) if source else 0.0,
        "added": len(summary.keys() - source.keys()) / len(summary) if summary else 0.0,
        "shifted": sum(steps) / (len(LIKELIHOODS) - 1) / len(shared) if shared else 0.0,
    }
