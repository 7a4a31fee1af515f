"""What a network predicts: treatment and outcome by symptoms, and the counts of healthy patients in samples of it."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from tasks.network.causal import question_of
from tasks.network.graph import NetworkDefinition
from tasks.network.sampling import sample
from tasks.statistics.metric_rows import COMPUTED, Row, metric_row, metric_table

REPLICATE_STREAM = 6
NORMAL_QUANTILE = 1.96


def prediction_table(definition: NetworkDefinition) -> pd.DataFrame:
    """METRICS of the mean treatment and outcome for each combination of symptoms, exact; a probability for two values.

    The outcome is predicted with and without the treatment; other causes have their first value. Without rows for a
    network that has no single treatment and outcome.
    """
    question = question_of(definition)
    if question is None:
        return metric_table([])
    rows = [
        row for name in (question.treatment, question.outcome) for row in _rows(definition, name, question.treatment)
    ]
    return metric_table(rows, stage="network", system=definition.name, provenance=COMPUTED)


def _rows(network: NetworkDefinition, name: str, treatment: str) -> Iterator[Row]:
    means = network.rates(name) if network.is_count(name) else np.exp(network.log_conditional(name)[..., 1])
    symptoms = network.of_type("symptom")
    for at in np.ndindex(means.shape):
        codes = dict(zip(network.parents(name), at, strict=True))
        said = {parent: f"{parent}={network.values(parent)[code]}" for parent, code in codes.items()}
        others = [parent for parent in codes if parent not in symptoms]
        if not any(codes[parent] for parent in others if parent != treatment):
            item = " ".join(text for parent, text in said.items() if parent in symptoms)
            condition = f"{name} | {', '.join(said[parent] for parent in others)}"
            yield metric_row("prediction", float(means[at]), n=0, item=item, condition=condition)


def count_table(definition: NetworkDefinition, records: int, replicates: int, seed: int) -> pd.DataFrame:
    """METRICS of the numbers of records without symptoms, and of those of them with an underlying condition.

    Means over ``replicates`` samples of ``records``; low and high bound the 95% prediction interval of one sample.
    """
    drawn = [replicate_counts(definition, records, [seed, REPLICATE_STREAM, i]) for i in range(replicates)]
    counts = np.array(drawn, dtype=float)
    halves = NORMAL_QUANTILE * counts.std(axis=0, ddof=1) * np.sqrt(1 + 1 / replicates)
    items = ("records without symptoms", "of these with an underlying condition")
    rows = [
        metric_row("records", mean, mean - half, mean + half, n=records, item=item)
        for item, mean, half in zip(items, counts.mean(axis=0), halves, strict=True)
    ]
    shared = {"stage": "network", "system": definition.name, "condition": f"mean of {replicates} samples"}
    return metric_table(rows, **shared, seed=seed, provenance=COMPUTED)


def replicate_counts(definition: NetworkDefinition, records: int, seed: Sequence[int]) -> tuple[int, int]:
    """Number of records in one sample without any symptom, and of these with at least one underlying condition."""
    drawn = sample(definition, records, seed)
    well = _all_absent(definition, drawn, definition.of_type("symptom"))
    healthy = _all_absent(definition, drawn, definition.of_type("underlying condition"))
    return int(well.sum()), int((well & ~healthy).sum())


def _all_absent(definition: NetworkDefinition, drawn: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    absent = pd.DataFrame({name: drawn[name] == definition.values(name)[0] for name in names})
    return absent.all(axis=1)
