"""Effects of the deviations of SimSUM's released code on neural-text: each alone, and all together."""

from typing import get_args

import pandas as pd

from schemas.params.baselines import Baselines, TextDeviation
from tasks.baselines import neural_text
from tasks.baselines.note_vectors import NoteVectors
from tasks.baselines.paired import paired_rows
from tasks.baselines.targets import targets_of
from tasks.network.graph import NetworkDefinition

VARIANTS: dict[str, tuple[TextDeviation, ...]] = {
    **{f"neural-text, {name}": (name,) for name in get_args(TextDeviation)},
    "neural-text as released": get_args(TextDeviation),
}
"""System -> its deviations."""


def effect_rows(
    definition: NetworkDefinition,
    vectors: NoteVectors,
    train: pd.DataFrame,
    test: pd.DataFrame,
    params: Baselines,
    *,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS rows of each variant's F1 minus that of neural-text, by condition and symptom, with the first seed."""
    one_seed = params.model_copy(update={"seeds": params.seeds[:1]})
    parts = [_predict(definition, vectors, train, test, one_seed, neural_text.SYSTEM, ())]
    parts += [
        _predict(definition, vectors, train, test, one_seed, system, deviations)
        for system, deviations in VARIANTS.items()
    ]
    conditions = parts[0]["condition"].unique()
    pairs = [((system, condition), (neural_text.SYSTEM, condition)) for system in VARIANTS for condition in conditions]
    predictions = pd.concat(parts, ignore_index=True)
    settings = {"seed": seed, "draws": params.draws, "bins": params.bins}
    return paired_rows(predictions, pairs, targets_of(definition), **settings, provenance=provenance)


def _predict(
    definition: NetworkDefinition,
    vectors: NoteVectors,
    train: pd.DataFrame,
    test: pd.DataFrame,
    params: Baselines,
    system: str,
    deviations: tuple[TextDeviation, ...],
) -> pd.DataFrame:
    neural = params.neural.model_copy(update={"as_released": list(deviations)})
    changed = params.model_copy(update={"neural": neural})
    jobs = neural_text.jobs_of(definition, vectors, train, test, changed)
    return neural_text.predictions_of(system, jobs, test, changed)
