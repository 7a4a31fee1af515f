"""What a measure says of itself, from which evaluations, comparisons, tables and pages follow."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.llm.calls import Asks
from tasks.measures.doclens.writing import Writer
from tasks.measures.measure import Metrics
from tasks.statistics.metric_rows import Row
from tasks.texts.document import Document, Sectioning, Tables
from tasks.texts.files import Layout


@dataclass(frozen=True)
class Plan:
    """What is done with the documents of an evaluation, and what measures need to know of it.

    ``metrics``: names of the chosen measures; ``systems``: all systems, of each of which every document should have an
    output; ``citing``: those whose citations are judged, and left out where other measures read the outputs;
    ``writers``: whose outputs are written; ``layout``: of the data.
    """

    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    citing: tuple[str, ...] = ()
    writers: tuple[Writer, ...] = ()
    sections: Sectioning = "whole"
    layout: Layout = "own"


@dataclass(frozen=True)
class Unit:
    """A unit of a text and whether a system's output has it (1), lacks it (0), or was not judged (None), for pages.

    ``section``: how it is classified; ``note``: what is said of it.
    """

    document: str
    system: str
    text: str
    verdict: int | None
    section: str = ""
    note: str = ""
    weight: float | None = None


@dataclass(frozen=True)
class Panel:
    """How the page of an evaluation shows a measure's units of a document, beside the texts and in its table of all.

    ``units``: of the tables of an evaluation, in the order of the page. ``kind``: what a unit is called; ``tally``:
    what is said of those that count; ``verdict``: what a yes means. ``lacking``: those that the output lacks count, and
    no others are listed beside the texts. ``groups``: sections that are headings there, of which the first is tallied.
    """

    units: Callable[[Tables], Iterable[Unit]]
    title: str
    kind: str
    tally: str
    verdict: str
    hint: str = ""
    lacking: bool = False
    groups: tuple[str, ...] = ()


Made = Mapping[str, Any]
"""Seed and provenance of METRICS."""


@dataclass(frozen=True)
class Declared:
    """A measure, to all that show, choose, count or compare it.

    ``name``: stage of its rows; ``metrics``: all that it may have, in the order of pages. ``judge``: judges the outputs
    of an evaluation, None for what is no measure of outputs: the tables verdicts (VERDICTS), unscored (UNSCORED), and
    others; by ``params``, a section of params.yaml. ``metrics_by``: those that it has by the params, by default all;
    ``figures``: METRICS of documents, the tables of an evaluation (verdicts by measure) and the DOCUMENT_SCORES of the
    measures before it, by default those of its metrics. ``chosen_as``: its name in the list of measures of an
    evaluation, by default ``name``; ``by_default``: chosen where none is named. ``table``: name of its verdicts among
    the tables of an evaluation; None: they are not kept. ``roles``: that it asks about documents. ``referenced``: it is
    left out of an evaluation without any reference, with ``or_cited`` only where no output cites either. ``marked``: it
    reads outputs with their citation marks. ``panel``: how a page shows its units. ``cited``: the method, as a paper
    names it.

    ``of_summaries``: judges outputs of systems that summarise patients over time, where its metrics with a ``removal``
    are tested; ``summary_scores`` and ``summary_rows`` are made of its verdicts there beside means.
    """

    name: str
    metrics: Metrics
    judge: Callable[[Plan, Params, Asks, Sequence[Document]], Awaitable[Tables]] | None = None
    params: str = ""
    metrics_by: Callable[[Params], Metrics] | None = None
    figures: Callable[[Plan, Params, Sequence[Document], Tables, pd.DataFrame, Made], pd.DataFrame] | None = None
    chosen_as: str = ""
    by_default: bool = True
    table: str | None = None
    roles: Callable[[Sequence[Document]], Sequence[RoleName]] = lambda _: ("judge",)
    referenced: bool = False
    or_cited: bool = False
    marked: bool = False
    panel: Panel | None = None
    cited: str = ""
    of_summaries: Callable[[Sequence[str], Params, Asks, Sequence[Document]], Awaitable[Tables]] | None = None
    summary_scores: Callable[[pd.DataFrame, Params], pd.DataFrame] | None = None
    summary_rows: Callable[[pd.DataFrame, Params], list[Row]] | None = None

    @property
    def choice(self) -> str:
        """Its name in the list of measures of an evaluation."""
        return self.chosen_as or self.name

    @property
    def judged(self) -> bool:
        """Whether a judge is asked; others only compute."""
        return "judge" in self.roles(())
