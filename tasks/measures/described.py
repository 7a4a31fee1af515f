"""All measures, found by their folders: their metrics, what these mean, which are compared, and which are chosen."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from schemas.errors import ParamsError, did_you_mean
from tasks.measures.declared import Declared
from tasks.measures.measure import Metrics

_DECLARED = "tasks.measures.*.measure"
"""The modules with a measure, each its `Declared` ``MEASURE``."""
DECLARED: tuple[Declared, ...] = tuple(
    import_module(_DECLARED.replace("*", file.parent.name)).MEASURE
    for file in sorted(Path(__file__).parent.glob("*/measure.py"))
)
OF_OUTPUTS = tuple(one for one in DECLARED if one.judge is not None)
"""Measures of outputs, which an evaluation may choose."""
MEASURES: Mapping[str, Metrics] = {one.name: one.metrics for one in OF_OUTPUTS}
METRICS: Metrics = {name: metric for one in DECLARED for name, metric in one.metrics.items()}
COMPARED = tuple(name for name, metric in METRICS.items() if metric.compared)
"""Metrics of the family that is tested between systems and between lineages."""
SHARES = frozenset(name for name, metric in METRICS.items() if metric.is_share)
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


def chosen(names: Sequence[str] | None) -> list[Declared]:
    """The measures of outputs with these names, those by default for None. Raises ParamsError for another name."""
    known = {one.choice: one for one in OF_OUTPUTS}
    if unknown := next((name for name in names or () if name not in known), None):
        asked = unknown.lower().replace("_", "").rstrip("0123456789")
        of = [name for name, one in known.items() if any(asked and asked in m.replace("_", "") for m in one.metrics)]
        hint = f"; {unknown} is among the metrics of {of[0]}" if len(of) == 1 else did_you_mean(unknown, known)
        raise ParamsError(f"--metrics is {unknown!r}; expected {', '.join(known)}{hint}")
    return [one for name, one in known.items() if (one.by_default if names is None else name in names)]


def meanings() -> dict[str, str]:
    """What each metric and each figure that is made of it says, by name."""
    figures = {
        f"{name}{ending}": said.format(label=name.replace("_", " "))
        for name in METRICS
        for ending, said in _FIGURES.items()
    }
    return {name: metric.meaning for name, metric in METRICS.items() if metric.meaning} | figures


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
