"""Canary prompts: asked at each probe, so that a model that changes silently is noticed.

A hosted model is not deterministic, so several samples of each reply are taken, and two probes differ only when replies
differ more between the probes than within them.
"""

from collections import Counter
from itertools import combinations, pairwise

import numpy as np

SAMPLES = 4
"""Replies to each prompt in one probe."""

DRAWS = 20_000
"""Permutations drawn for a test."""

PROMPTS = (
    "In three sentences, explain to a patient why antibiotics do not help against a common cold.",
    "List seven causes of shortness of breath, each with the sign that best tells it apart. One line each.",
    "Rewrite as a hurried physician would, with abbreviations: The patient has had a productive cough for five days, "
    "no fever, and slight pain in the chest when breathing in.",
    "A note says: no wheezing, mild crackles at the right base, temperature 38.9. Which finding argues most for "
    "pneumonia, and why? Answer in two sentences.",
    "Describe in three sentences what a physician hears with a stethoscope in asthma.",
    "Write two sentences of a referral letter for a patient with a cough that has lasted six weeks.",
)

Replies = dict[str, list[str]]
"""Prompt -> the replies of one probe."""


def change_p_value(now: Replies, before: Replies) -> float:
    """How likely two probes of one unchanged model differ this much; 1.0 when they have no prompt in common.

    Permutation test on the energy distance (Székely and Rizzo 2013) between the replies of the two probes, summed over
    prompts; labels are permuted within each prompt. The distance of two replies is one minus the Dice coefficient of
    their words and word pairs.
    """
    common = [prompt for prompt in now if now[prompt] and before.get(prompt)]
    splits = [_split_statistics(before[prompt], now[prompt]) for prompt in common]
    if not splits:
        return 1.0
    observed = sum(values[0] for values in splits)
    draw = np.random.default_rng(0)
    drawn = sum((draw.choice(values, size=DRAWS) for values in splits), np.zeros(DRAWS))
    as_large = int(np.sum(drawn >= observed - 1e-9))
    return (as_large + 1) / (DRAWS + 1)


def _split_statistics(before: list[str], now: list[str]) -> np.ndarray:
    """The energy distance for each way to split all replies into two groups of these sizes, the observed way first."""
    bags = [_bag(reply) for reply in [*before, *now]]
    size, first = len(bags), len(before)
    distance = np.array([[_distance(one, other) for other in bags] for one in bags])
    groups = np.zeros((len(list(combinations(range(size), first))), size))
    for row, chosen in enumerate(combinations(range(size), first)):
        groups[row, list(chosen)] = 1.0
    rest, second = 1.0 - groups, size - first
    between = np.einsum("gi,ij,gj->g", groups, distance, rest) / (first * second)
    within = np.einsum("gi,ij,gj->g", groups, distance, groups) / first**2
    within += np.einsum("gi,ij,gj->g", rest, distance, rest) / second**2
    statistics: np.ndarray = 2 * between - within
    return statistics


def _bag(reply: str) -> Counter[str]:
    words = reply.lower().split()
    return Counter(words) + Counter(f"{one} {other}" for one, other in pairwise(words))


def _distance(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 1.0 - 2.0 * (one & other).total() / total if total else 0.0
