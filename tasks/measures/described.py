"""The measures with their metrics: what these mean, for pages, and which are compared."""

from collections.abc import Mapping
from typing import Any

from tasks.measures.doclens.judging import GRADED
from tasks.measures.doclens.judging import METRICS as OF_REFERENCE
from tasks.measures.doclens.judging import NAME as DOCLENS
from tasks.measures.grounding.grounding import METRICS as OF_SOURCE
from tasks.measures.grounding.grounding import NAME as GROUNDING
from tasks.measures.measure import Metrics
from tasks.measures.med_omit.judging import METRICS as OF_FACTS
from tasks.measures.med_omit.judging import NAME as MED_OMIT
from tasks.measures.med_omit.judging import REMOVED
from tasks.measures.med_omit.network_importance import MEANINGS as IMPORTANCE
from tasks.measures.note_qa.judging import METRICS as OF_QUESTIONS
from tasks.measures.note_qa.judging import NAME as NOTE_QA
from tasks.statistics.intervals import SHARE

MEASURES: Mapping[str, Metrics] = {
    DOCLENS: dict(  # each metric in degrees follows the one that it refines
        sorted({**OF_REFERENCE, **GRADED}.items(), key=lambda one: list(OF_REFERENCE).index(one[1].of or one[0]))
    ),
    GROUNDING: OF_SOURCE,
    MED_OMIT: {**OF_FACTS, **REMOVED},
    NOTE_QA: OF_QUESTIONS,
}
"""The metrics of each measure that judges units of outputs, by its name."""
OTHERS: Mapping[str, str] = {**IMPORTANCE}
"""Meanings of what is computed otherwise than from a `Metric`."""
METRICS: Metrics = {name: metric for metrics in MEASURES.values() for name, metric in metrics.items()}
COMPARED = tuple(name for name, metric in METRICS.items() if metric.compared)
SHARES = frozenset(name for name, metric in METRICS.items() if metric.bounds == SHARE)
_FIGURES = {
    "_pooled": "the same, pooled over all units",
    "_std": "standard deviation over texts",
    "_pooled_bounds": "least and greatest value, whatever the judgements that failed had been",
    "_bounds": "range of the mean over all that failed judgements may be",
    "_difference": "{label} of the first system minus that of the second, on the same documents",
    "_corrected": "{label}, corrected for the judge's error rates",
    "_corrected_possible": (
        "1 if matched cases exist and the corrected value is possible, which does not show that the rates hold here; "
        "0 if not, do not use it"
    ),
}
_PERCENT = ("", "_pooled", "_std", "_corrected")
"""Figures of a share that are shown as percent."""


def meanings() -> dict[str, str]:
    """What each metric and each figure that is made of it says, by name."""
    figures = {
        f"{name}{ending}": said.format(label=name.replace("_", " "))
        for name in METRICS
        for ending, said in _FIGURES.items()
    }
    return {name: metric.meaning for name, metric in METRICS.items()} | figures | dict(OTHERS)


def percent() -> set[str]:
    """The figures that are shown as percent."""
    return {f"{name}{ending}" for name in SHARES for ending in _PERCENT}


def shown_first() -> dict[str, dict[str, Any]]:
    """Label, meaning and whether it is a share of each metric that the page of an evaluation shows first."""
    found: dict[str, dict[str, Any]] = {}
    for name, metric in METRICS.items():
        if metric.label:
            found[name] = {"label": metric.label, "meaning": metric.meaning, "share": name in SHARES}
            if metric.task:
                said = f"{metric.label}, corrected for the judge's error rates on its card"
                found[f"{name}_corrected"] = {"label": "- corrected", "meaning": said, "share": True}
    return found
