"""Draws the notes to be rated, and the order in which each rater sees them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
import pandas as pd

from schemas.errors import ParamsError
from schemas.params.review import Review
from tasks.evaluation.expert_review.rubric import note_type, penalty_parts

_DRAW, _ORDER, _PRACTICE = 901, 902, 903


_KNOBS = {"type_1": "review.with_symptoms", "type_2": "review.without_symptoms"}


def draw_notes(
    prompts: pd.DataFrame,
    notes: pd.DataFrame,
    compact: pd.DataFrame,
    review: Review,
    *,
    seed: int,
    labels: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Draw notes of both types at random, and others for practice (REVIEW_NOTES), as in SimSUM's Appendix E.

    Raises ParamsError if there are fewer notes than ``review`` asks for.
    """
    rows = prompts.merge(notes[["record", "note"]], on="record").merge(compact[["record", "compact"]], on="record")
    rows = rows.sort_values("record", ignore_index=True)
    rows["type"] = rows["kind"].map(note_type)
    rng = np.random.default_rng([seed, _DRAW])
    wanted = {"type_1": review.with_symptoms, "type_2": review.without_symptoms}
    counted = pd.concat([_take(rows[rows["type"] == kind], n, _KNOBS[kind], rng) for kind, n in wanted.items()])
    others = rows[~rows["record"].isin(counted["record"])]
    practice = _take(others, review.practice, "review.practice", np.random.default_rng([seed, _PRACTICE]))
    drawn = pd.concat([counted.assign(practice=False), practice.assign(practice=True)])
    conditions = {name for listed in prompts["conditions"] for name in json.loads(listed)}
    parts = [json.dumps(penalty_parts(row, conditions, labels or {})) for row in drawn.to_dict("records")]
    drawn = drawn.assign(prompt=drawn["single_prompt"].map(_without_task_line), parts=parts)
    drawn = drawn.sort_values("record", ignore_index=True)
    return drawn[["record", "type", "prompt", "note", "compact", "practice", "parts"]]


def _without_task_line(prompt: str) -> str:
    """Drop the first line of a prompt, which only names the task for the simulator; raters do not need it."""
    first, _, rest = prompt.partition("\n")
    return rest.lstrip("\n") if first.startswith("Task:") else prompt


def _take(rows: pd.DataFrame, n: int, knob: str, rng: np.random.Generator) -> pd.DataFrame:
    if len(rows) < n:
        raise ParamsError(f"{knob} asks for {n} notes, but only {len(rows)} are left; lower it or sample more records")
    return rows.iloc[np.sort(rng.choice(len(rows), size=n, replace=False))]


def rater_order(records: Sequence[int], rater: str, *, seed: int) -> list[int]:
    """The order in which ``rater`` sees the records: different for each rater, the same on every run.

    It depends on the rater's code only, so that further raters can join without changing the others' orders.
    """
    rng = np.random.default_rng([seed, _ORDER, crc32(rater.encode())])
    return [sorted(records)[i] for i in rng.permutation(len(records))]


def form_id(drawn: pd.DataFrame) -> str:
    """Hash of a draw's content: a file returned for other notes or another wording is refused."""
    content = drawn.sort_values("record").to_json(orient="values")
    return hashlib.sha256(content.encode()).hexdigest()[:12]
