"""Stage `simsum_published`: SimSUM's released records, notes and spans, with its split and settings."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from flows.runtime.stage import Stage
from flows.stages.simulated_notes import encoded
from schemas.params import Params
from schemas.params.learning import Baselines, TextDeviation
from tasks.baselines import bn_tab, neural_text
from tasks.baselines.comparisons import Swaps, paired_rows, provenance_by_system, text_pairs
from tasks.baselines.scoring import metric_rows
from tasks.baselines.targets import parts_of
from tasks.dataset.simsum import LABEL, read_released, released_split
from tasks.llm.calls import unscored_table
from tasks.spans.statistics import all_statistics
from tasks.statistics.metric_rows import metric_table

FILES = {
    "notes": "simsum/SimSUM.csv",
    "normal": "simsum/normal_span_annotations.json",
    "compact": "simsum/adv_span_annotations.json",
}
"""The files of the release by what they hold, in the sources folder."""
TABLES = ("simsum_spans", "simsum_text", "simsum_text_paired")


def reads_simsum_published(_: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [*FILES.values()]


async def run_simsum_published(stage: Stage) -> None:
    """Describe the spans (Table 3), and train and compare models (Tables 5 and 6); empty without the files."""
    files = {name: (stage.sources or Path()) / file for name, file in FILES.items()}
    if stage.sources is None or not all(file.is_file() for file in files.values()):
        for name in TABLES:
            stage.save_metrics(name, metric_table([]))
        return
    records, texts, spans = read_released(files, stage.params.domain)
    about: dict[str, Any] = {"seed": stage.params.seed, "provenance": LABEL}
    symptoms = stage.network.of_type("symptom")
    stage.save_metrics("simsum_spans", all_statistics(spans, records, texts, symptoms, unscored_table([]), **about))
    scores, paired = _text_models(stage, records, texts, spans)
    stage.save_metrics("simsum_text", scores)
    stage.save_metrics("simsum_text_paired", paired)


def _text_models(
    stage: Stage, records: pd.DataFrame, texts: Mapping[str, pd.DataFrame], spans: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of the models by the released settings, and comparisons of the text models (METRICS)."""
    params, seed = as_released(stage.params.baselines), stage.params.seed
    vectors, encoder = encoded(stage, texts["normal"], texts["compact"], spans)
    parts = parts_of(stage.network, records, released_split(records["record"]))
    found = [bn_tab.predict(parts, params.network, seed)]
    found += [neural_text.predict(parts, vectors, params, tables=tables) for tables in (False, True)]
    predictions, made_by = pd.concat(found, ignore_index=True), provenance_by_system([LABEL], encoder)
    pairs = partial(paired_rows, predictions, text_pairs(), parts.targets, Swaps(seed, params.draws))
    return metric_rows(predictions, parts.targets, params.bins, made_by), pairs(made_by[neural_text.TEXT])


def as_released(params: Baselines) -> Baselines:
    """The settings with Adam for the network (Appendix F.1), and the released code's handling of texts."""
    network = params.network.model_copy(update={"optimiser": "adam"})
    neural = params.neural.model_copy(update={"as_released": [*get_args(TextDeviation)]})
    return params.model_copy(update={"network": network, "neural": neural})
