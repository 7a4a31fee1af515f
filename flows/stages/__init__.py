"""The stages of dvc.yaml.

A stage is ``run(stage)`` of the module with its name, or ``run_NAME(stage)`` of a module that holds several. One that
reads outside data lists its files in ``reads(params)`` or ``reads_NAME(params)``.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

SHARED = {
    "annotator": ("annotator_quality", "planted_errors"),
    "baseline_models": tuple(
        f"baseline_{model}" for model in ("bn_tab", "xgboost_tab", "neural_text", "neural_text_tab", "bn_text")
    ),
    "baselines": ("baselines", "baselines_published"),
    "doclens": ("doclens", "doclens_published", "doclens_summaries"),
    "human_labels": ("human_labels", "human_agreement"),
    "med_omit": ("med_omit", "med_omit_published"),
    "network": ("network", "network_published"),
    "note_qa": ("note_qa", "note_qa_outside", "ehrnoteqa_published"),
    "notes": ("prompt", "write", "filter", "compact"),
    "overlap": ("overlap", "own_metrics"),
    "records": ("sample", "split"),
    "reproduce": ("reproduce", "reproduce_published"),
    "review": ("review", "review_published"),
    "simulated_notes": ("baselines_text_published", "text_confounding_published", "training_data"),
    "simulator_quality": ("simulator_quality", "simulator_quality_published"),
    "span_review": ("span_quality", "span_review"),
}
"""Stages of each module that holds several."""


def place_of(stage: str, kind: str = "run") -> tuple[str, str]:
    """The module of a stage and its function: ``kind`` is ``run`` or ``reads``."""
    for module, stages in SHARED.items():
        if stage in stages:
            return f"flows.stages.{module}", f"{kind}_{stage}"
    return f"flows.stages.{stage}", kind


def stage_function(stage: str, kind: str = "run") -> Callable[[Any], Any]:
    """The function itself; imports its module."""
    module, name = place_of(stage, kind)
    function: Callable[[Any], Any] = getattr(import_module(module), name)
    return function
