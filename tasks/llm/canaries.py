"""Canary prompts: asked at each probe, so that a model that changes silently is noticed.

A hosted model is not deterministic, so several samples of each reply are taken, and two probes differ only when replies
differ more between the probes than within them.
"""

from collections import Counter
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np

SAMPLES = 6
"""Replies to each prompt in one probe."""

DRAWS = 4999
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
    "Compare viral and bacterial pneumonia in three sentences.",
    "List five questions to ask a patient with pain in the chest when breathing in. One line each.",
)

Replies = dict[str, list[str]]
"""Prompt -> the replies of one probe."""


def change_p_value(now: Replies, before: Replies) -> float:
    """How likely two probes of one unchanged model differ this much; 1.0 when they have no prompt in common.

    Permutation test on the energy distance (Székely and Rizzo 2013) between the replies of the two probes, summed over
    all prompts but the one with the largest, since a reply at temperature 0 may flip on another processor; labels are
    permuted within each prompt. The distance of two replies is one minus the Dice coefficient of their words and word
    pairs.
    """
    common = [prompt for prompt in now if now[prompt] and before.get(prompt)]
    if not common:
        return 1.0
    draw = np.random.default_rng(0)
    drawn = np.empty((len(common), DRAWS + 1))  # the observed split first
    for row, prompt in enumerate(common):
        statistics = _split_statistics(before[prompt], now[prompt])
        drawn[row] = [statistics[0], *draw.choice(statistics, size=DRAWS)]
    sums = drawn.sum(axis=0) - drawn.max(axis=0)
    return float(np.mean(sums >= sums[0] - 1e-9))


def _split_statistics(before: list[str], now: list[str]) -> np.ndarray:
    """The energy distance for each way to split all replies into two groups of these sizes, the observed way first."""
    distance, size, first = _distances([*before, *now]), len(before) + len(now), len(before)
    groups = _splits(size, first)
    rest, second = 1.0 - groups, size - first
    to_group, to_rest = groups @ distance, rest @ distance
    between = (to_group * rest).sum(axis=1) / (first * second)
    within = (to_group * groups).sum(axis=1) / first**2 + (to_rest * rest).sum(axis=1) / second**2
    statistics: np.ndarray = 2 * between - within
    return statistics


@lru_cache
def _splits(size: int, first: int) -> np.ndarray:
    """A row for each choice of ``first`` of ``size``: 1 where chosen. The first row chooses the first ones."""
    chosen = list(combinations(range(size), first))
    groups = np.zeros((len(chosen), size))
    for row, members in enumerate(chosen):
        groups[row, list(members)] = 1.0
    return groups


def _distances(replies: list[str]) -> np.ndarray:
    bags = [_bag(reply) for reply in replies]
    columns = {term: n for n, term in enumerate(set().union(*bags))}
    counts = np.zeros((len(bags), len(columns)))
    for row, bag in enumerate(bags):
        for term, count in bag.items():
            counts[row, columns[term]] = count
    totals = counts.sum(axis=1)
    apart = np.abs(counts[:, None, :] - counts[None, :, :]).sum(axis=2)
    distances: np.ndarray = apart / np.maximum(totals[:, None] + totals[None, :], 1.0)
    return distances


def _bag(reply: str) -> Counter[str]:
    words = reply.lower().split()
    return Counter(words) + Counter(f"{one} {other}" for one, other in pairwise(words))
