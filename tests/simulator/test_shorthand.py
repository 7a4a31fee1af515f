"""Shorthand abbreviates sides and rounded numbers, and leaves the same words alone where they mean something else."""

import random
import re
from dataclasses import replace

import pytest

from tasks.simulator.writer.compact_version import write_compact
from tasks.simulator.writer.rates import ErrorRates
from tasks.simulator.writer.shorthand import shorten
from tests.simulator.test_writer import request

DRAWS = 20
"""Notes per sentence: a form is drawn once per note."""


def written(sentence: str) -> set[str]:
    """All versions of a sentence."""
    found = {shorten(f"**History**\nSeen today. {sentence}", random.Random(seed)).text for seed in range(DRAWS)}
    return {text.partition("**History**\nSeen today.")[2].strip() for text in found} - {""}


@pytest.mark.parametrize(
    ("sentence", "short"),
    [
        ("Left knee swollen.", "L knee swollen."),
        ("Pain worse on right.", "Pain worse on R."),
        ("Sneezed about 30 times.", "Sneezed ~30 times."),
        ("Saline helps for an hour or two.", "Saline helps for 1-2 hrs."),
    ],
)
def test_a_side_and_a_rounded_number_have_short_forms(sentence: str, short: str) -> None:
    assert any(short.lower().rstrip(".") in text.lower() for text in written(sentence)), written(sentence)


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("Pain started right after lifting.", "right after"),
        ("Blisters burst and left raw spots.", "left raw"),
        ("She left work early.", "left work"),
        ("Embarrassed about the hands.", "about hands"),
    ],
)
def test_other_meanings_of_these_words_are_written_out(sentence: str, kept: str) -> None:
    assert all(kept in text for text in written(sentence)), written(sentence)


def test_a_detail_that_is_changed_is_a_side_and_no_verb() -> None:
    note = "**History**\nHe left the room. The left knee hurts."
    prompt = request(f"Task: write the compact version\n\n<note>\n{note}\n</note>")
    every = [write_compact(replace(prompt, seed=seed), ErrorRates({"detail_changed": 1.0})) for seed in range(DRAWS)]
    changed = [version.compact.text for version in every if version.error is not None]  # others omit the sentence
    assert len(changed) > DRAWS / 2
    assert all("left" in text.partition("room")[0] for text in changed)
    assert all(re.search(r"\b(?:right|R) knee", text, re.IGNORECASE) for text in changed)
