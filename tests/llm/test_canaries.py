"""A probe rarely raises the epoch of an unchanged model, and detects an exchanged model."""

import numpy as np
import pytest

from schemas.params.llm import Role
from tasks.transport.epochs import PROMPTS, SAMPLES, Replies, change_p_value
from tests.support.chatter import Chatter

LEVEL = Role(base_url="https://api.example.com/v1", model="big").canary_level
PROBES = 100
EXCHANGES = 80


def probe(model: Chatter, draw: np.random.Generator) -> Replies:
    return {p: [model.reply(draw, n) for _ in range(SAMPLES)] for n, p in enumerate(PROMPTS)}


def test_an_unchanged_sampling_model_raises_the_epoch_in_at_most_two_percent_of_probes() -> None:
    draw = np.random.default_rng(1)
    alarms = 0
    for _ in range(PROBES // 10):  # ten probes against the baseline of one epoch, as the schedule does
        model = Chatter.random(draw, len(PROMPTS))
        baseline = probe(model, draw)
        alarms += sum(change_p_value(probe(model, draw), baseline) < LEVEL for _ in range(10))
    assert alarms <= 0.02 * PROBES


@pytest.mark.parametrize("similar", [0.0, 0.5], ids=["another model", "a model of similar style"])
def test_at_least_95_percent_of_exchanges_are_noticed(similar: float) -> None:
    draw = np.random.default_rng(2)
    noticed = 0
    for _ in range(EXCHANGES // 2):
        model = Chatter.random(draw, len(PROMPTS))
        other = Chatter.random(draw, len(PROMPTS)).like(model, similar)
        noticed += change_p_value(probe(other, draw), probe(model, draw)) < LEVEL
    assert noticed >= 0.95 * EXCHANGES / 2


def test_a_deterministic_model_is_unchanged_until_a_reply_differs() -> None:
    fixed = {prompt: ["a cold is viral"] * SAMPLES for prompt in PROMPTS}
    assert change_p_value(fixed, fixed) == 1.0
    other = {prompt: ["bacteria are killed"] * SAMPLES for prompt in PROMPTS}
    assert change_p_value(other, fixed) < LEVEL


def test_one_changed_reply_is_not_another_model() -> None:
    fixed = {prompt: ["a cold is viral"] * SAMPLES for prompt in PROMPTS}
    flipped = fixed | {PROMPTS[0]: ["a cold is caused by viruses"] * SAMPLES}
    assert change_p_value(flipped, fixed) > LEVEL


def test_replies_to_other_prompts_cannot_be_compared() -> None:
    assert change_p_value({"a": ["x"]}, {"b": ["y"]}) == 1.0
