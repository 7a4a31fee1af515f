"""Simulated studies in six designs, analysed by the product's own intervals and tests, beside what is planned."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.planning.components import Pilot, deviations, differences
from tasks.planning.designs import Design, Study
from tasks.statistics.intervals import Bounds, mean_interval
from tasks.statistics.paired_verdicts import flip_p
from tasks.tracking.comparison import LEVEL
from tasks.tracking.measures import Measure
from tasks.tracking.pairing import PairedMeasure
from tests.support.null_pairs import compare

KEY = ("study", "", "", "all", "score")
PILOT_NOTES = 40_000
CLAIMS = 12
SHIFTS = (-0.4, 0.0, 0.1)
"""How much three raters are above the mean."""
Draw = np.random.Generator
Frame = pd.DataFrame


def of_judge(draw: Draw, sizes: np.ndarray, takes: int, gain: float) -> Frame:
    """Right and wrong of two systems: notes, and questions in notes, differ in how hard they are, takes by chance.

    The second system answers a share ``gain`` of what the first one gets wrong.
    """
    easy = draw.beta(4.0, 1.5, len(sizes))
    of_note = np.repeat(np.arange(len(sizes)), sizes)
    question = draw.beta(3 * easy[of_note] + 0.05, 3 * (1 - easy[of_note]) + 0.05)
    rows = []
    for system, right in (("a", question), ("b", question + gain * (1 - question))):
        scores = draw.random((takes, len(question))) < right
        for take, score in enumerate(scores):
            rows.append(pd.DataFrame({
                "document": of_note, "question": np.arange(len(of_note)), "take": take, "system": system,
                "score": score.astype(float),
            }))  # fmt: skip
    return pd.concat(rows, ignore_index=True)


def of_claims(draw: Draw, notes: int, gain: float) -> Frame:
    """One score a note and system: the share of its claims that hold."""
    found = of_judge(draw, np.full(notes, CLAIMS), 1, gain)
    return found.groupby(["document", "system"], as_index=False)["score"].mean()


def of_raters(draw: Draw, notes: int, raters: int, gain: float) -> Frame:
    """Ratings from 1 to 5 of two systems' notes; raters are more or less strict, and differ in their view of a note."""
    note = draw.normal(3.4, 0.5, (notes, 1))
    rows = []
    for system, more in (("a", 0.0), ("b", gain)):
        strict = np.array(SHIFTS[:raters]) + draw.normal(0, 0.6, (notes, raters))
        own = note + draw.normal(more, 0.3, (notes, 1)) + strict
        rated = np.clip(np.round(own), 1, 5)
        at, rater = np.indices(rated.shape)
        rows.append(pd.DataFrame(
            {"document": at.ravel(), "rater": rater.ravel(), "system": system, "score": rated.ravel()}
        ))  # fmt: skip
    return pd.concat(rows, ignore_index=True)


@dataclass(frozen=True)
class Simulated:
    """A design: how its scores are drawn for a number of notes, and how the product analyses them.

    ``test``: "paired" or "independent", as lineages and systems are compared, or "flips", as audits are.
    """

    draw: Callable[[Draw, int], Frame]
    design: Design
    bounds: Bounds = (0.0, 1.0)
    pooled: bool = False
    test: str = "paired"
    of_difference: bool = False


DESIGNS = {
    "notes": Simulated(lambda draw, n: of_claims(draw, n, 0.3), Design(60), test="independent"),
    "questions": Simulated(lambda draw, n: of_judge(draw, np.full(n, 4), 1, 0.35), Design(50, questions=4)),
    "takes": Simulated(lambda draw, n: of_judge(draw, np.full(n, 3), 5, 0.25), Design(45, questions=3, takes=5)),
    "raters": Simulated(lambda draw, n: of_raters(draw, n, 3, 0.3), Design(40, raters=3), bounds=(1.0, 5.0)),
    "systems": Simulated(lambda draw, n: of_claims(draw, n, 0.25), Design(40), of_difference=True),
    "clustered claims": Simulated(
        lambda draw, n: of_judge(draw, 1 + draw.poisson(5, n), 1, 0.25),
        Design(60, questions=6),
        pooled=True,
        test="flips",
    ),
    "right or wrong": Simulated(lambda draw, n: of_judge(draw, np.full(n, 1), 1, 0.4), Design(150)),
}


@dataclass(frozen=True)
class Planned:
    """Half width and power of a design by `vignette plan`, from a large pilot."""

    half_width: float
    power: float


def planned(simulated: Simulated, draw: Draw, notes: int = PILOT_NOTES) -> Planned:
    """The plan from a pilot of so many ``notes``, with the same questions, takes and raters."""
    rows = simulated.draw(draw, notes).astype({"document": str})
    one = Pilot(rows[rows["system"] == "a"].drop(columns="system")).components()
    found, alone = differences(rows, "a", "b")
    assert alone == 0
    difference = float(found["score"].mean())
    independent = simulated.test == "independent"
    both = Pilot(deviations(rows, "a", "b") if independent else found, paired=True).components()
    width = simulated.bounds[1] - simulated.bounds[0]
    between = Study(both, (-width, width), True, independent, simulated.pooled)
    mean = between if simulated.of_difference else Study(one, simulated.bounds, pooled=simulated.pooled)
    return Planned(mean.half_width(simulated.design), between.power(simulated.design, abs(difference)))


def analysed(simulated: Simulated, rows: Frame, *, seed: int, draws: int) -> tuple[float, bool]:
    """Half the width of the interval that the product prints for a study, and whether its test finds a difference."""
    a, b = (rows[rows["system"] == system].reset_index(drop=True) for system in ("a", "b"))
    if simulated.test == "flips":
        found = flip_p((b["score"] - a["score"]).to_numpy(), a["document"].to_numpy()) < LEVEL
        row = {}
    else:
        row = compare([_pair(a, b, simulated.test == "independent")], seed=seed, draws=draws).iloc[0]
        found = bool(row["changed"]) if draws > 1 else bool(row["low"] > 0 or row["high"] < 0)
    if simulated.of_difference:
        return float(row["high"] - row["low"]) / 2, found
    keys = ["document"] if "rater" in a else ["document", "question"] if "question" in a else ["document"]
    items = a.groupby(keys, as_index=False)["score"].mean()
    clusters = items["document"] if "question" in a and items["document"].duplicated().any() else None
    _, low, high = mean_interval(items["score"], bounds=simulated.bounds, clusters=clusters)
    return (high - low) / 2, found


def _pair(a: Frame, b: Frame, independent: bool) -> PairedMeasure:
    measures = []
    for side in (a, b):
        means = side.groupby("document")["score"].mean()
        measures.append(Measure(KEY, means.index.to_numpy(np.int64), means.to_numpy(np.float32)[:, None, None, None]))
    return PairedMeasure(*measures, independent=independent)


def studies(simulated: Simulated, runs: int, *, draws: int) -> tuple[float, float]:
    """Mean half width, and the share of ``runs`` studies whose test finds the difference."""
    halves, found = [], []
    for run in range(runs):
        rows = simulated.draw(np.random.default_rng([2, run]), simulated.design.notes)
        if simulated.test == "independent":
            other = simulated.draw(np.random.default_rng([3, run]), simulated.design.notes)
            rows = pd.concat([rows[rows["system"] == "a"], other[other["system"] == "b"]])
        half, beyond = analysed(simulated, rows, seed=run, draws=draws)
        halves.append(half)
        found.append(beyond)
    return float(np.mean(halves)), float(np.mean(found))
