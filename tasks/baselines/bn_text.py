r"""BN-text: what SimSUM's Figure 1 envisions. The network and the text classifier, combined as probabilities.

With the text independent of the tabular evidence given the symptom s, Bayes' rule gives

    p(s | text, evidence)  ∝  p(text | s) p(s | evidence)  ∝  p_text(s) / p_train(s) * p_BN(s | evidence)

where p_text is neural-text's probability, p_train the share of s among the train records, by which the classifier's own
prior is taken out, and p_BN the fitted network's posterior in an evidence setting. The classifier's probabilities are
calibrated first, on predictions for train records that it was not trained on (cross-fitting).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from schemas.evidence import EVIDENCE_SETTINGS
from schemas.params.baselines import Baselines
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.arrays import Floats, Integers, Singles
from tasks.baselines.bn_tab import posteriors
from tasks.baselines.neural_text import Job, classifiers_of, joint_targets, train_job
from tasks.baselines.neural_text_tab import EMBEDDING
from tasks.baselines.note_vectors import NoteVectors, scale_embeddings
from tasks.baselines.scoring import models_in
from tasks.baselines.targets import Target, labels_of, prediction_rows, targets_of
from tasks.baselines.text_calibration import Calibration, fit_calibration, normalise
from tasks.baselines.workers import run_jobs
from tasks.network.fitting import fit
from tasks.network.graph import NetworkDefinition

SYSTEM = "BN-text"
CALIBRATED = "neural-text calibrated"
FOLD_STREAM = 43


def combine(text: Floats, prior: Floats, network: Floats) -> Floats:
    """The formula above for each record: ``text`` and ``network`` (n, values), ``prior`` (values,)."""
    tiny = np.finfo(float).tiny
    return normalise(np.log(np.maximum(text, tiny)) - np.log(prior) + np.log(np.maximum(network, tiny)))


def prior_of(labels: Integers, values: int) -> Floats:
    """The share of each value among train labels; one record of each is added, so that none is zero."""
    counts = np.bincount(labels, minlength=values) + 1.0
    return counts / counts.sum()


@dataclass(frozen=True)
class _Fold:
    version: str
    targets: tuple[Target, ...]
    held_out: Integers


def calibrations(
    definition: NetworkDefinition, vectors: NoteVectors, train: pd.DataFrame, params: Baselines, seed: int
) -> dict[tuple[str, str], Calibration]:
    """By (version, symptom): calibration learned from out-of-fold predictions on train records, with the first seed."""
    folds = KFold(params.calibration_folds, shuffle=True, random_state=np.random.RandomState([seed, FOLD_STREAM]))
    one_seed = params.model_copy(update={"seeds": params.seeds[:1]})
    places: list[_Fold] = []
    jobs: list[Job] = []
    for version in NOTE_VERSIONS:
        inputs: Singles = scale_embeddings(vectors.embedding(EMBEDDING, version, train["record"].to_numpy()))[0]
        for kept, rest in folds.split(inputs):
            for targets in joint_targets(definition):
                classifiers = classifiers_of(train.iloc[kept], inputs[kept], targets, definition)
                jobs.append(Job(version, targets, classifiers, inputs[rest], one_seed))
                places.append(_Fold(version, targets, rest))
    return _fit_all(places, run_jobs(train_job, jobs, params.processes), train)


def _fit_all(
    places: Sequence[_Fold], results: Sequence[list[Floats]], train: pd.DataFrame
) -> dict[tuple[str, str], Calibration]:
    gathered: dict[tuple[str, str], Floats] = {}
    targets = {target.symptom: target for place in places for target in place.targets}
    for place, by_seed in zip(places, results, strict=True):
        for number, target in enumerate(place.targets):
            key = (place.version, target.symptom)
            out = gathered.setdefault(key, np.zeros((len(train), len(target.values))))
            out[place.held_out] = by_seed[0][number]
    return {key: fit_calibration(out, labels_of(train, targets[key[1]])) for key, out in gathered.items()}


def predict(
    definition: NetworkDefinition,
    vectors: NoteVectors,
    neural_text: pd.DataFrame,
    train: pd.DataFrame,
    test: pd.DataFrame,
    params: Baselines,
    seed: int,
) -> pd.DataFrame:
    """PREDICTIONS for each note version, evidence setting and seed, from those of neural-text on mean embeddings.

    Also gives the calibrated text classifier by itself (``neural-text calibrated``), so that what calibration does and
    what the network adds can be told apart.
    """
    learned = calibrations(definition, vectors, train, params, seed)
    fitted = fit(definition, train, params.network, seed=seed)
    wanted = [f"{version}/{EMBEDDING}" for version in NOTE_VERSIONS]
    posterior = {
        (target.symptom, setting): posteriors(fitted, test, target, setting)
        for target in targets_of(definition)
        for setting in EVIDENCE_SETTINGS
    }
    rows = []
    for model in models_in(neural_text[neural_text["condition"].isin(wanted)], targets_of(definition)):
        version, target = model.condition.split("/")[0], model.target
        prior = prior_of(labels_of(train, target), len(target.values))
        for number, probabilities in zip(model.seeds, model.probabilities, strict=True):
            text = learned[version, target.symptom].apply(probabilities)
            rows.append(prediction_rows(test, text, target, system=CALIBRATED, condition=model.condition, seed=number))
            for setting in EVIDENCE_SETTINGS:
                combined = combine(text, prior, posterior[target.symptom, setting])
                condition = f"{version}/{setting}"
                rows.append(prediction_rows(test, combined, target, system=SYSTEM, condition=condition, seed=number))
    return pd.concat(rows, ignore_index=True)
