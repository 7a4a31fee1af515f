"""Classifiers of tasks/baselines, trained with many seeds on one simulated data set, to compare lineages."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from flows.runtime.params import load_params
from schemas.params.learning import Baselines
from tasks.baselines import neural_text
from tasks.baselines.neural_text import Singles
from tasks.baselines.note_vectors import scale_embeddings
from tasks.baselines.targets import Parts, labels_of, targets_of
from tasks.network.sampling import sample
from tasks.tracking.measures import Key, Measure, prediction_measures
from tasks.tracking.pairing import PairedMeasure
from tests.support.imports import ROOT
from tests.support.records import NETWORK

DIMENSION = 24


class NotedVectors:
    """Replaces `NoteVectors`: embeddings with a direction for each symptom, and strong noise.

    Noise is independent between kinds of embedding and note versions, so predictors differ as with real notes.
    """

    def __init__(self, records: pd.DataFrame, world: int) -> None:
        self._place = {int(record): row for row, record in enumerate(records["record"])}
        self._world = world
        draw = np.random.default_rng([world, 1])
        self._signal = np.zeros((len(records), DIMENSION))
        for target in targets_of(NETWORK):
            self._signal += draw.normal(size=(len(target.values), DIMENSION))[labels_of(records, target)]

    def embedding(self, kind: str, version: str, records: Any, symptom: str | None = None) -> Singles:
        """(n, DIMENSION) embeddings of ``records``."""
        words = f"{kind}/{version}/{symptom if kind == 'span' else ''}"
        draw = np.random.default_rng([self._world, 2, *words.encode()])
        spread = 1.2 if version == "normal" else 1.5
        noisy = self._signal + spread * draw.normal(size=self._signal.shape)
        return noisy[[self._place[int(record)] for record in records]].astype(np.float32)

    def inputs(self, kind: str, version: str, *records: Any, symptom: str = "") -> list[Singles]:
        """Scaled embeddings of each set of records, as `NoteVectors.inputs`."""
        return scale_embeddings(*(self.embedding(kind, version, part, symptom) for part in records))

    def as_released(self, deviations: Any) -> "NotedVectors":
        """The same vectors: there is nothing to normalise."""
        return self


@dataclass(frozen=True)
class Trained:
    """The parts of each measure over all trained seeds: (records, seeds, classes, 3)."""

    measures: dict[Key, Measure]
    seeds: int

    def family(self, chosen: np.ndarray, rows: np.ndarray) -> list[Measure]:
        """The measures of a lineage trained with the ``chosen`` seeds, on these ``rows`` of the test records."""
        ids = np.arange(len(rows))
        return [Measure(key, ids, whole.parts[rows][:, chosen]) for key, whole in self.measures.items()]

    def pairs(self, draw: np.random.Generator, rows: np.ndarray, *, seeds: int = 5) -> list[PairedMeasure]:
        """Two lineages that differ only in their training seeds and share none."""
        order = draw.permutation(self.seeds)
        a, b = self.family(order[:seeds], rows), self.family(order[seeds : 2 * seeds], rows)
        return [PairedMeasure(one, other, 0) for one, other in zip(a, b, strict=True)]


def train(world: int, *, train: int, test: int, seeds: int, processes: int = 2) -> Trained:
    """Train neural-text and neural-text-tab, all conditions, with each of ``seeds`` seeds on one simulated data set."""
    definition = NETWORK
    records = sample(definition, train + test, world)
    rows = records.iloc[:train].reset_index(drop=True), records.iloc[train:].reset_index(drop=True)
    parts = Parts(definition, *rows)
    params = _params(seeds, train, processes)
    vectors: Any = NotedVectors(records, world)
    measures: dict[Key, Measure] = {}
    for system, predict in (
        (neural_text.TEXT, neural_text.predict),
        (neural_text.TEXT_TAB, neural_text.predict_with_tables),
    ):
        measures |= prediction_measures(predict(parts, vectors, params), f"baseline_{system}")
    return Trained(measures, seeds)


def _params(seeds: int, train: int, processes: int) -> Baselines:
    """Few and large steps: the test needs many seeds, not good classifiers."""
    params = load_params(ROOT / "params.yaml").baselines
    schedule = params.neural.two_values.model_copy(update={"epochs": 10, "learning_rate": 0.005})
    small = {"hidden": 32, "batch_size": max(100, train // 8), "two_values": schedule, "more_values": schedule}
    neural = params.neural.model_copy(update=small)
    return params.model_copy(update={"seeds": list(range(seeds)), "processes": processes, "neural": neural})
