"""Stage `baselines`: scores all models, compares them in pairs, and compares Tables 5 and 6 with the printed ones."""

import pandas as pd

from flows.engine.baseline_inputs import encoder_label, load_parts
from flows.engine.stage import Stage
from schemas.tables.baselines import PREDICTIONS, RELIABILITY, TUNED
from schemas.tables.metrics import REPRODUCTION_ROWS
from schemas.tables.notes import NOTES
from schemas.tables.simsum import PRINTED_TABLE_5, PRINTED_TABLE_6
from tasks.baselines.paired import paired_rows
from tasks.baselines.regenerated import regenerated_rows
from tasks.baselines.reproduction import text_rows
from tasks.baselines.scoring import metric_rows, reliability_rows
from tasks.baselines.systems import TEXTUAL, compared_pairs, missing_rows, provenance_by_system
from tasks.baselines.targets import targets_of
from tasks.baselines.xgboost_tab import tuned_rows
from tasks.reproduction.other_domain import SIMSUM, other_domain_rows

MODELS = ("bn_tab", "xgboost_tab", "neural_text", "neural_text_tab", "bn_text")


async def run(stage: Stage) -> None:
    """Write metric, comparison and reliability tables, reproduction rows, and test records without a note."""
    parts, params, seed = load_parts(stage), stage.params.baselines, stage.params.seed
    targets = targets_of(parts.definition)
    predictions = pd.concat([stage.load(f"predictions_{model}", PREDICTIONS) for model in MODELS], ignore_index=True)
    notes = stage.load("notes", NOTES)
    made_by = provenance_by_system(notes["provenance"].tolist(), encoder_label(stage))
    missing = missing_rows(parts.test["record"].tolist(), predictions)
    settings = {"seed": seed, "draws": params.draws, "bins": params.bins}
    scores = metric_rows(
        predictions, targets, **settings, provenance=made_by, unscored=dict.fromkeys(TEXTUAL, len(missing))
    )
    readers = predictions[predictions["system"].isin(TEXTUAL)]
    attempts = dict(zip(notes["record"].tolist(), notes["attempt"].tolist(), strict=True))
    selected = regenerated_rows(readers, attempts, targets, seed=seed, draws=params.draws, provenance=made_by)
    stage.save_metrics("baselines", pd.concat([scores, selected], ignore_index=True))
    pairs = paired_rows(predictions, compared_pairs(), targets, **settings, provenance=made_by[TEXTUAL[0]])
    stage.save_metrics("baselines_paired", pairs)
    stage.save_metrics("xgboost_tuned", tuned_rows(stage.load("tuned", TUNED), len(parts.train), seed))
    stage.save("baselines_reliability", reliability_rows(predictions, targets, bins=params.bins), RELIABILITY)
    if parts.definition.source == SIMSUM:
        printed = stage.load("simsum_table5_f1", PRINTED_TABLE_5), stage.load("simsum_table6_f1", PRINTED_TABLE_6)
        reproduced = text_rows(scores, *printed)
    else:
        reproduced = other_domain_rows(["Table 5", "Table 6"], parts.definition.name)
    stage.save("reproduction_baselines", reproduced, REPRODUCTION_ROWS)
    stage.save_unscored("unscored_baselines", missing, of=len(parts.test))
