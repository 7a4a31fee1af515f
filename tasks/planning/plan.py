"""The table of alternatives: designs that reach a target, with what they cost, and how sure the plan is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import exp, isnan, log, nan

import numpy as np
import pandas as pd
from scipy import stats

from tasks.planning.components import QUESTION, RATER, RATING, SOURCES, TAKE, Components, Pilot
from tasks.planning.designs import LEVEL, MOST, Design, Study
from tasks.statistics.intervals import Bounds, Interval, statistic_interval

COLUMNS = (
    "notes", "questions", "takes", "raters", "judgements", "half_width", "half_width_other_raters", "power",
    "smallest_difference", "design_effect", "dollars", "reached", "chosen",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """What the study must reach; each part may be None.

    ``half_width`` of the printed interval; ``difference``: found with ``power``.
    """

    half_width: float | None = None
    difference: float | None = None
    power: float = 0.8

    def reached(self, study: Study, design: Design) -> bool:
        """Whether a design reaches every part; True where there is none."""
        narrow = self.half_width is None or study.half_width(design) <= self.half_width
        return narrow and (self.difference is None or study.power(design, self.difference) >= self.power)

    @property
    def asked(self) -> bool:
        """Whether there is any part."""
        return self.half_width is not None or self.difference is not None


@dataclass(frozen=True)
class Prices:
    """Dollars of a note, of a judgement by a model, and of an item judged by a person; nan where unknown."""

    note: float = 0.0
    judgement: float = 0.0
    label: float = 0.0

    def dollars(self, design: Design, systems: int) -> float:
        """Cost of a design for so many systems on the same notes; a person judges each item once."""
        items = design.notes * design.questions
        judged = items * design.takes * self.judgement if self.judgement else 0.0
        labelled = items * design.raters * self.label if self.label else 0.0
        return design.notes * self.note + systems * (judged + labelled)


@dataclass(frozen=True)
class Grid:
    """Numbers to try. Without ``notes``, the fewest that reach the target are searched."""

    questions: Sequence[int] = (1,)
    takes: Sequence[int] = (1,)
    raters: Sequence[int] = (1,)
    notes: Sequence[int] = ()


def untold(components: Components, grid: Grid) -> list[str]:
    """Why numbers above 1 of the grid cannot be planned with these components; empty if all can."""
    lacks = {QUESTION: grid.questions, TAKE: grid.takes, RATER: grid.raters}
    told = {*components.variances, *([QUESTION] if RATING in components.variances else [])}
    return [
        f"{max(numbers)} {name}s: the components do not say how much {name}s differ; "
        f"a pilot with several {name}s of a note does"
        for name, numbers in lacks.items()
        if max(numbers) > 1 and name not in told
    ]


def alternatives(study: Study, target: Target, grid: Grid, prices: Prices) -> pd.DataFrame:
    """One row per design with `COLUMNS`; the cheapest that reaches the target is ``chosen``, by dollars or judgements.

    Raises ValueError for numbers whose worth the components do not tell, and for a grid without notes and target.
    """
    if problems := untold(study.components, grid):
        raise ValueError("; ".join(problems))
    if not grid.notes and not target.asked:
        raise ValueError("expected a half width, a difference, or numbers of notes")
    rows = []
    for questions, takes, raters in product(grid.questions, grid.takes, grid.raters):
        shape = Design(0, questions, takes, raters)
        searched = () if grid.notes else (study.notes_for(shape, partial(target.reached, study)),)
        for notes in grid.notes or searched:
            rows.append(_row(study, target, replace(shape, notes=notes or 0), prices))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    able = table[table["reached"]]
    if target.asked and len(able):
        by = ["dollars", "judgements"] if able["dollars"].gt(0).any() else ["judgements"]
        table.loc[able.sort_values([*by, "notes"], kind="stable").index[0], "chosen"] = True
    return table


def _row(study: Study, target: Target, design: Design, prices: Prices) -> dict[str, object]:
    """A row of alternatives; one without notes is of a design that does not reach the target with `MOST`."""
    own = {"questions": design.questions, "takes": design.takes, "raters": design.raters}
    if not design.notes:
        return {**dict.fromkeys(COLUMNS, nan), "notes": MOST, **own, "reached": False, "chosen": False}
    systems = 2 if study.difference else 1
    return {
        "notes": design.notes,
        **own,
        "judgements": systems * design.judgements,
        "half_width": study.half_width(design),
        "half_width_other_raters": study.half_width_other_raters(design),
        "power": nan if target.difference is None else study.power(design, target.difference),
        "smallest_difference": study.smallest(design, target.power),
        "design_effect": study.design_effect(design),
        "dollars": prices.dollars(design, systems),
        "reached": target.reached(study, design),
        "chosen": False,
    }


def uncertainty(study: Study, design: Design, pilot: Pilot | None) -> Interval:
    """Variance of a note's mean in a design with its 95% interval; nan ends for components that were given.

    The interval is that of a variance with a degree of freedom less than the notes (chi-square). With a pilot it is
    widened to that of the jackknife over documents on the log scale, which knows about tails, and about designs other
    than the pilot's.
    """
    value, freedom = study.note_variance(design), study.components.notes - 1
    if freedom < 1:
        return value, nan, nan
    low, high = (value * freedom / float(stats.chi2.isf(tail, freedom)) for tail in (LEVEL / 2, 1 - LEVEL / 2))
    if pilot is None:
        return value, low, high

    def logged(places: np.ndarray) -> float:
        try:
            found = replace(study, components=pilot.only(places).components()).note_variance(design)
        except ValueError:
            return nan
        return log(found) if found > 0 else nan

    own, *ends = statistic_interval(logged, len(pilot.documents), bounds=None)
    if isnan(ends[0]):
        return value, low, high
    return value, min(low, value * exp(ends[0] - own)), max(high, value * exp(ends[1] - own))


def scaled(study: Study, factor: float) -> Study:
    """The study with all variances multiplied, to see what a plan would be with other components."""
    found = study.components
    variances = {name: factor * value for name, value in found.variances.items()}
    discordant = min(factor * found.discordant, 1.0)
    return replace(study, components=replace(found, variances=variances, discordant=discordant))


def from_interval(value: float, low: float, high: float, n: int, bounds: Bounds | None) -> Components:
    """The variance of a note's score behind a printed mean of ``n`` notes, by inverting its interval.

    Raises ValueError for fewer than two notes, no interval, and an interval that no variance gives.
    """
    if n < 2 or isnan(low) or isnan(high):
        raise ValueError(f"n {n}, interval {low:g} to {high:g}; expected an interval of at least 2 notes")
    wanted = (high - low) / 2

    def half(variance: float) -> float:
        return Study(Components(value, {SOURCES[0]: variance}), bounds).half_width(Design(n))

    least, most = 0.0, max((4 * wanted) ** 2 * n, 1e-12)
    if not half(1e-12) < wanted:
        raise ValueError(
            f"the interval {low:g} to {high:g} of n {n} shows no variance; give a pilot with several scores"
        )
    for _ in range(60):
        middle = (least + most) / 2
        least, most = (least, middle) if half(middle) > wanted else (middle, most)
    return Components(value, {SOURCES[0]: most}, notes=n, n=n)
