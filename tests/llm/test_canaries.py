"""A probe rarely raises the epoch of an unchanged model, and detects an exchanged model."""

import numpy as np
import pytest

from schemas.params.llm import Role
from tasks.transport.epochs import PROBES, PROMPTS, SAMPLES, Replies, change_p_value
from tests.support.chatter import Chatter

LEVEL = Role(base_url="https://api.example.com/v1", model="big").canary_level / PROBES
EXCHANGES = 40


def probe(model: Chatter, draw: np.random.Generator) -> Replies:
    return {p: [model.reply(draw, n) for _ in range(SAMPLES)] for n, p in enumerate(PROMPTS)}


def test_p_values_of_an_unchanged_sampling_model_are_below_a_level_as_often_as_it_says() -> None:
    draw = np.random.default_rng(1)
    found = []
    for _ in range(20):  # ten probes against the baseline of one epoch, as the schedule does
        model = Chatter.random(draw, len(PROMPTS))
        baseline = probe(model, draw)
        found += [change_p_value(probe(model, draw), baseline, level=LEVEL) for _ in range(10)]
    assert np.mean(np.array(found) < 0.05) < 0.09 and np.mean(np.array(found) < 0.5) > 0.35
    assert min(found) >= LEVEL, "no epoch is raised"


@pytest.mark.parametrize(("similar", "days"), [(0.0, 1), (0.5, 7)], ids=["another model", "a model of similar style"])
def test_at_least_95_percent_of_exchanges_are_noticed(similar: float, days: int) -> None:
    """On the day of the exchange, or within a week if half of the new model's preferences are the old one's."""
    draw = np.random.default_rng(2)
    noticed = 0
    for _ in range(EXCHANGES):
        model = Chatter.random(draw, len(PROMPTS))
        other, baseline = Chatter.random(draw, len(PROMPTS)).like(model, similar), probe(model, draw)
        noticed += any(change_p_value(probe(other, draw), baseline, level=LEVEL) < LEVEL for _ in range(days))
    assert noticed >= 0.95 * EXCHANGES


def test_a_deterministic_model_is_unchanged_until_a_reply_differs() -> None:
    fixed = {prompt: ["a cold is viral"] * SAMPLES for prompt in PROMPTS}
    assert change_p_value(fixed, fixed, level=LEVEL) == 1.0
    other = {prompt: ["bacteria are killed"] * SAMPLES for prompt in PROMPTS}
    assert change_p_value(other, fixed, level=LEVEL) < LEVEL


def test_one_changed_reply_is_not_another_model() -> None:
    fixed = {prompt: ["a cold is viral"] * SAMPLES for prompt in PROMPTS}
    flipped = fixed | {PROMPTS[0]: ["a cold is caused by viruses"] * SAMPLES}
    assert change_p_value(flipped, fixed, level=LEVEL) > LEVEL


def test_replies_to_other_prompts_cannot_be_compared() -> None:
    assert change_p_value({"a": ["x"]}, {"b": ["y"]}, level=LEVEL) == 1.0
