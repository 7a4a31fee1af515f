"""Stages `baselines`, which scores and compares all models, and `baselines_published`, on draws of 10,000 records."""

import pandas as pd

from flows.runtime.stage import Stage
from flows.stages.baseline_models import encoder_label, load_parts
from tasks.baselines.comparisons import (
    TEXTUAL,
    Swaps,
    compared_pairs,
    missing_rows,
    paired_rows,
    provenance_by_system,
    regenerated_rows,
    unfitted,
    unfitted_tables,
)
from tasks.baselines.note_vectors import noted_records
from tasks.baselines.replicates import replicate_many, replicate_rows, tune_once
from tasks.baselines.scoring import metric_rows, reliability_rows
from tasks.baselines.xgboost_tab import tuned_rows

MODELS = ("bn_tab", "xgboost_tab", "neural_text", "neural_text_tab", "bn_text")


async def run_baselines(stage: Stage) -> None:
    """Write metric, comparison and reliability tables, and test records without a note."""
    parts, params, seed = load_parts(stage), stage.params.baselines, stage.params.seed
    targets = parts.targets
    predictions = pd.concat([stage.load(f"predictions_{model}") for model in MODELS], ignore_index=True)
    notes = stage.load("notes")
    made_by = provenance_by_system(notes["provenance"].tolist(), encoder_label(stage))
    noted = noted_records(stage.load("note_sentences"))
    missing = missing_rows(parts.test["record"].tolist(), noted)
    scores = metric_rows(predictions, targets, params.bins, made_by, dict.fromkeys(TEXTUAL, len(missing)))
    attempts = dict(zip(notes["record"].tolist(), notes["attempt"].tolist(), strict=True))
    readers = predictions[predictions["system"].isin(TEXTUAL)]
    selected = regenerated_rows(readers, attempts, targets, made_by)
    too_few, unfitted_rows = unfitted_tables(unfitted(parts, parts.only(noted), params), len(parts.train))
    stage.save_metrics("baselines", pd.concat([scores, selected, unfitted_rows], ignore_index=True))
    pairs = paired_rows(predictions, compared_pairs(), targets, Swaps(seed, params.draws), made_by[TEXTUAL[0]])
    stage.save_metrics("baselines_paired", pairs)
    stage.save_metrics("xgboost_tuned", tuned_rows(stage.load("tuned"), len(parts.train), seed))
    stage.save("baselines_reliability", reliability_rows(predictions, targets, bins=params.bins))
    stage.save_unscored("unscored_baselines", missing, of=len(parts.test), uncounted=too_few)


async def run_baselines_published(stage: Stage) -> None:
    """Tune once with the published grid, and refit on each draw."""
    definition, size, seed = stage.network, stage.params.baselines_published, stage.params.seed
    params = stage.params.baselines
    params = params.model_copy(update={"xgboost": params.xgboost.model_copy(update={"grid": "published"})})
    known, tuned = tune_once(definition, params, size, seed)
    replicates = replicate_many(definition, params, size, known, seed)
    tests = round(size.records * params.test_share)
    stage.save_metrics("xgboost_tuned", tuned_rows(tuned, size.records - tests, seed))
    stage.save_metrics("baselines_replicates", replicate_rows(replicates, size.level, tests, seed))
