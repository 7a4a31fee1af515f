"""What a design reaches: the half width of the interval that a report will print, and the power of its test.

Half widths are those of `tasks.statistics.intervals` at the planned variance, of differences on the same notes those of
`difference_interval`; of differences between other notes, Student's. Power is that of the paired or the
two-sample t test (Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", Chapter 2), or of McNemar's
exact test where each note has one difference of right and wrong.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import ceil, isnan, nan, sqrt

import numpy as np
import numpy.typing as npt
from scipy import stats

from tasks.planning.components import BY_RATER, NOTE, QUESTION, RATER, RATING, TAKE, Components
from tasks.statistics.intervals import Bounds, difference_interval, linearised_interval, mean_interval
from tasks.statistics.power import exact_power

LEAST, MOST = 8, 100_000
"""Notes: the fewest that are tested for a difference, and the most that are planned."""
LEVEL = 0.05
_NODES, _ROWS = 25, 25_000
"""Quantiles of a number of hits that a half width is the mean over; fewer where that takes more rows than these."""
_FAR = 30.0
"""Standard errors of a difference that every test finds."""


@dataclass(frozen=True)
class Design:
    """Numbers of notes, of questions of a note, of takes of a question, and of raters who judge every note."""

    notes: int
    questions: int = 1
    takes: int = 1
    raters: int = 1

    @property
    def judgements(self) -> int:
        """Judgements of one system."""
        return self.notes * self.questions * self.takes * self.raters


@dataclass(frozen=True)
class Study:
    """What is measured: components, bounds of the score, and whether it is a difference.

    ``bounds``: of a score or a difference, None without. ``difference``: two systems are compared. ``independent``: on
    different notes. ``pooled``: all items count alike, however many a note has. ``tests``: size of the family of tests
    (Bonferroni; Holm's first step).
    """

    components: Components
    bounds: Bounds | None = (0.0, 1.0)
    difference: bool = False
    independent: bool = False
    pooled: bool = False
    tests: int = 1

    @property
    def level(self) -> float:
        """Level of a single test."""
        return LEVEL / self.tests

    def note_variance(self, design: Design) -> float:
        """Variance of a note's mean score over its questions, takes and raters."""
        clusters = 1 + self.components.unequal if self.pooled and design.questions > 1 else 1.0
        questions, takes, raters = design.questions, design.takes, design.raters
        judged = {
            NOTE: clusters, QUESTION: 1 / questions, BY_RATER: 1 / raters, RATING: 1 / (questions * raters),
            TAKE: 1 / (questions * takes * raters), RATER: 0.0,
        }  # fmt: skip
        return sum(judged[name] * value for name, value in self.components.variances.items())

    def variance(self, design: Design) -> float:
        """Variance of the mean over notes, with these raters, or of the difference of two means."""
        return (2 if self.independent else 1) * self.note_variance(design) / design.notes

    def design_effect(self, design: Design) -> float:
        """Variance of the mean over that of as many judgements of one note each (Kish 1965)."""
        return self.note_variance(design) * design.judgements / design.notes / self.components.single

    def half_width(self, design: Design) -> float:
        """Half the expected width of the interval that is printed."""
        bounds, mean, notes = self.bounds, self.components.mean, design.notes
        if self.difference and not self.independent:
            reach = np.inf if bounds is None else bounds[1]
            return float(np.mean([_half(difference_interval(d, reach=reach)[1:]) for d in self._differences(design)]))
        if self.components.binary and design.judgements == notes and bounds == (0.0, 1.0):
            hits = stats.binom.ppf((np.arange(_NODES) + 0.5) / _NODES, notes, mean)
            return float(np.mean([_half(mean_interval(np.arange(notes) < hit)[1:]) for hit in hits]))
        if bounds is None or self.independent:
            freedom = 2 * (notes - 1) if self.independent else notes - 1
            return float(stats.t.isf(LEVEL / 2, freedom)) * sqrt(self.variance(design))
        deviations = np.zeros(notes)
        deviations[: notes // 2], deviations[notes - notes // 2 :] = 1.0, -1.0
        spread = sqrt(self.variance(design) * (notes - 1) / notes / float((deviations**2).sum()))
        return _half(linearised_interval(mean, spread * deviations, bounds=bounds))

    def _differences(self, design: Design) -> Iterator[npt.NDArray[np.float64]]:
        """Differences of the notes (notes,) as expected: normal quantiles, or right and wrong as in the pilot."""
        notes, mean = design.notes, self.components.mean
        if self._exact(design):
            discordant = self.components.discordant
            nodes = max(min(_NODES, _ROWS // notes), 1)
            for count in stats.binom.ppf((np.arange(nodes) + 0.5) / nodes, notes, discordant):
                gains = round(count * (1 + mean / discordant) / 2)
                yield np.repeat([1.0, -1.0, 0.0], [gains, int(count) - gains, notes - int(count)])
            return
        apart = stats.norm.ppf((np.arange(notes) + 0.5) / notes)
        most = np.inf if self.bounds is None else self.bounds[1]
        yield np.clip(mean + sqrt(self.variance(design) * notes) * apart / apart.std(ddof=1), -most, most)

    def _exact(self, design: Design) -> bool:
        """Whether notes have one difference of right and wrong each, so that McNemar's test is planned for."""
        single = design.judgements == design.notes and not self.independent
        return single and not isnan(self.components.discordant)

    def half_width_other_raters(self, design: Design) -> float:
        """The same for the mean over all raters like these: Student's t with a freedom of raters; nan for one rater."""
        between = self.components.variances.get(RATER, nan)
        if isnan(between) or design.raters < 2:
            return nan
        rater, note = between / design.raters, self.variance(design)
        freedom = (rater + note) ** 2 / (rater**2 / (design.raters - 1) + note**2 / (design.notes - 1))
        return float(stats.t.isf(LEVEL / 2, freedom)) * sqrt(rater + note)

    def power(self, design: Design, difference: float) -> float:
        """Probability that the test finds a ``difference``; nan where nothing is compared."""
        if not self.difference:
            return nan
        discordant = self.components.discordant
        if self._exact(design):
            if abs(difference) > discordant:
                return nan
            return exact_power(design.notes, abs(difference), discordant, self.level)
        freedom = 2 * (design.notes - 1) if self.independent else design.notes - 1
        quantile = float(stats.t.isf(self.level / 2, freedom))
        away = abs(difference) / sqrt(self.variance(design))
        found = float(stats.nct.sf(quantile, freedom, away) + stats.nct.cdf(-quantile, freedom, away))
        return float(stats.norm.sf(quantile - away)) if isnan(found) else found  # nan far out, for many notes

    def smallest(self, design: Design, power: float) -> float:
        """The smallest difference that is found with ``power``; nan where none is, or nothing is compared."""
        if not self.difference:
            return nan
        high = self.components.discordant if self._exact(design) else _FAR * sqrt(self.variance(design))
        if not self.power(design, high) >= power:
            return nan
        low = 0.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(design, middle) >= power else (middle, high)
        return high

    def notes_for(self, design: Design, reached: Callable[[Design], bool]) -> int | None:
        """The fewest notes, from `LEAST` on, with which the other numbers of ``design`` reach a target; None: too many.

        The target must be reached for all larger numbers too.
        """

        def enough(notes: int) -> bool:
            return reached(replace(design, notes=notes))

        high = LEAST
        while not enough(high):
            high = ceil(high * 1.5)
            if high > MOST:
                return None
        low = LEAST if high == LEAST else ceil(high / 1.6)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle + 1, high)
        return high


def _half(ends: tuple[float, ...]) -> float:
    return (ends[1] - ends[0]) / 2
