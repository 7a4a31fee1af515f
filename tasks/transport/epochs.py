"""Decides the epoch of a role's model by canary prompts, which each probe asks, so that a silent change is noticed.

A hosted model is not deterministic, so several samples of each reply are taken, and two probes differ only when replies
differ more between the probes than within them. Former epochs are kept, so that a model that comes back is recognised.
"""

import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
import sqlalchemy as sa
from scipy.spatial.distance import pdist, squareform

from tasks.transport.database import fingerprints, imported, upsert
from tasks.transport.fingerprint import Fingerprint, differing_fields, parse_fingerprint
from tasks.transport.store import ResponseStore

SAMPLES = 6
"""Replies to each prompt in one probe."""

PROBES = 1000
"""Probes over which ``canary_level`` holds: some three years of daily ones.

Each is tested at that level over this number (Bonferroni), as a test at the level itself would now and then call a
model changed that is not. Probes of an epoch share its first replies, so that nothing finer is known to hold.
"""

DRAWS, ENOUGH, _BLOCK = 4999, 10, 100_000
"""Permutations drawn for a test; more while fewer than `ENOUGH` are as extreme and the level could still be reached."""

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

TOPICS = (
    r"vir(us|al)|bacteri",
    r"asthma|pneumonia|heart|anxiety|an(a)?emia|COPD|embol",
    r"cough",
    r"fever|temperature|38\.9|crackle",
    r"wheez|expir",
    r"cough|refer",
    r"vir(us|al)|bacteri",
    r"\?|pain|breath",
)
"""What a sensible reply to each of the prompts mentions."""

Replies = dict[str, list[str]]
"""Prompt -> the replies of one probe."""


def is_nonsense(replies: Replies) -> bool:
    """Whether no reply to any of the prompts mentions what it was asked about."""
    return not any(
        re.search(topic, reply, re.IGNORECASE)
        for prompt, topic in zip(PROMPTS, TOPICS, strict=True)
        for reply in replies.get(prompt, [])
    )


def change_p_value(now: Replies, before: Replies, *, level: float) -> float:
    """How likely two probes of one unchanged model differ this much; 1.0 when they have no prompt in common.

    As many permutations are drawn as it takes to tell whether the p-value is below ``level``.

    Permutation test on the energy distance (Székely and Rizzo 2013) between the replies of the two probes, summed over
    all prompts but the one with the largest, since a reply at temperature 0 may flip on another processor; labels are
    permuted within each prompt. The distance of two replies is one minus the Dice coefficient of their words and word
    pairs.
    """
    common = [prompt for prompt in now if now[prompt] and before.get(prompt)]
    if not common:
        return 1.0
    random = np.random.default_rng(0)
    statistics = [_split_statistics(before[prompt], now[prompt]) for prompt in common]
    observed = np.array([[of_prompt[0]] for of_prompt in statistics])
    most = _sum_but_largest(observed)[0] - 1e-9
    draws = extreme = 0
    wanted = DRAWS
    while wanted:
        drawn = np.stack([random.choice(of_prompt, size=min(wanted, _BLOCK)) for of_prompt in statistics])
        extreme += int((_sum_but_largest(drawn) >= most).sum())
        draws += drawn.shape[1]
        wanted = max(0, round(2 * ENOUGH / level) - draws) if extreme < ENOUGH else 0
    return (1 + extreme) / (1 + draws)


def _sum_but_largest(statistics: np.ndarray) -> np.ndarray:
    """Sums over prompts (prompts, draws), each without its largest."""
    return np.asarray(statistics.sum(axis=0) - statistics.max(axis=0))


def _split_statistics(before: list[str], now: list[str]) -> np.ndarray:
    """The energy distance for each way to split all replies into two groups of these sizes, the observed way first."""
    distance, size, first = _distances([*before, *now]), len(before) + len(now), len(before)
    groups = _splits(size, first)
    rest, second = 1.0 - groups, size - first
    to_group, to_rest = groups @ distance, rest @ distance
    between = (to_group * rest).sum(axis=1) / (first * second)
    within = (to_group * groups).sum(axis=1) / first**2 + (to_rest * rest).sum(axis=1) / second**2
    return np.asarray(2 * between - within)


@lru_cache
def _splits(size: int, first: int) -> np.ndarray:
    """A row for each choice of ``first`` of ``size``: 1 where chosen. The first row chooses the first ones."""
    chosen = list(combinations(range(size), first))
    groups = np.zeros((len(chosen), size))
    for row, members in enumerate(chosen):
        groups[row, list(members)] = 1.0
    return groups


def _distances(replies: list[str]) -> np.ndarray:
    bags = []
    for reply in replies:
        words = reply.lower().split()
        bags.append(Counter(words) + Counter(f"{one} {other}" for one, other in pairwise(words)))
    terms = set().union(*bags)
    counts = np.array([[bag[term] for term in terms] for bag in bags], dtype=float)
    return np.nan_to_num(squareform(pdist(counts, "braycurtis")))  # nan: two empty replies


def settle(
    store: ResponseStore, recorded: Fingerprint | None, found: Fingerprint, level: float
) -> tuple[Fingerprint, float]:
    """The fingerprint that holds now, and the p-value of its canary replies against those of its epoch.

    The p-value is NaN for the first epoch of an identity.

    ``found`` is the result of a probe, at epoch 0. ``level``: the probability that one of `PROBES` probes calls an
    unchanged model another one; a p-value below ``level / PROBES`` does. Replies are compared
    with those at an epoch's beginning, not with the last probe's, so that a slow drift adds up and is noticed. The
    recorded epoch is tried first; then any other epoch of the same identity, since a model may be rolled back; then a
    new one.
    """
    if recorded is not None:
        probed = sa.delete(imported).where(imported.c.identity == recorded.key)
        store.do_now(lambda connection: connection.execute(probed).close())
    if recorded is not None and not differing_fields(recorded.identity, found.identity, found.aliases):
        found = replace(found, identity=recorded.identity)
    known = _known(store, found)
    if recorded is not None and recorded.identity == found.identity:
        known = [recorded, *(epoch for epoch in known if epoch.epoch != recorded.epoch)]
    level /= PROBES
    p_values = [change_p_value(found.canaries, epoch.canaries, level=level) for epoch in known]
    for epoch, p_value in zip(known, p_values, strict=True):
        if p_value >= level:
            current = replace(epoch, aliases=found.aliases, structured=found.structured, prompts=found.prompts)
            _remember(store, current)
            return current, p_value
    if known:
        found = replace(found, epoch=max(epoch.epoch for epoch in known) + 1)
    _remember(store, found)
    return found, p_values[0] if p_values else np.nan


def _known(store: ResponseStore, like: Fingerprint) -> list[Fingerprint]:
    """Epochs of the same identity that were seen before, the latest first."""
    same = fingerprints.c.role == like.role, fingerprints.c.identity == like.identity_hash
    newest_first = sa.select(fingerprints.c.content).where(*same).order_by(fingerprints.c.epoch.desc())
    contents = store.do_now(lambda connection: connection.execute(newest_first).scalars().all())
    return [parse_fingerprint(content, like.role) for content in contents]


def _remember(store: ResponseStore, fingerprint: Fingerprint) -> None:
    row = {"role": fingerprint.role, "identity": fingerprint.identity_hash, "epoch": fingerprint.epoch}
    row |= {"content": fingerprint.to_json()}
    store.do_now(lambda connection: connection.execute(upsert(fingerprints), row).close())
