"""Stage `baselines_text_published`: the text baselines at the published size, on the simulator's first notes."""

import pandas as pd

from flows.runtime.stage import Stage
from flows.stages.simulated_notes import encoded, simulated_notes
from tasks.baselines import bn_text, neural_text
from tasks.baselines.comparisons import Swaps, compared_pairs, effect_rows, paired_rows, provenance_by_system
from tasks.baselines.reproduction import mean_rows, text_rows
from tasks.baselines.scoring import metric_rows
from tasks.baselines.targets import parts_of, split_records


async def run(stage: Stage) -> None:
    """Sample, write, mark spans, embed and train; reproduce the cells and means of Tables 5 and 6."""
    params, seed = stage.params.baselines, stage.params.seed
    made = await simulated_notes(stage, stage.params.baselines_published.records, "unscored_baselines_text")
    vectors, encoder = encoded(stage, made.notes, made.compact, made.spans)
    split = split_records(made.records, test_share=params.test_share, seed=seed)
    parts = parts_of(stage.network, made.records, split)
    text = neural_text.predict(parts, vectors, params)
    text_tab = neural_text.predict_with_tables(parts, vectors, params)
    combined = bn_text.predict(parts, vectors, text, params, seed)

    predictions = pd.concat([text, text_tab, combined], ignore_index=True)
    swaps = Swaps(seed, params.draws)
    made_by = provenance_by_system(made.notes["provenance"].tolist(), encoder)
    of_text = made_by[neural_text.TEXT]
    scores = metric_rows(predictions, parts.targets, params.bins, made_by)
    stage.save_metrics("baselines_text", scores)
    pairs = paired_rows(predictions, compared_pairs(), parts.targets, swaps, of_text)
    effects = effect_rows(parts, vectors, params, swaps, of_text)
    stage.save_metrics("baselines_text_paired", pd.concat([pairs, effects], ignore_index=True))
    printed = stage.load("simsum_table5_f1"), stage.load("simsum_table6_f1")
    rows = pd.concat([text_rows(scores, *printed), mean_rows(scores, *printed)], ignore_index=True)
    stage.save("reproduction_baselines_text", rows)
