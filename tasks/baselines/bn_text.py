r"""BN-text: the network and the text classifier combined as probabilities, as envisioned in SimSUM's Figure 1.

Text and tabular evidence are not independent given one symptom: the classifier infers a symptom also from what the note
says about other symptoms, which the network does again. Multiplying p_text(s) / p_train(s) with p_BN(s | evidence)
counts such information twice and is worse than the text alone (LOG.md). Instead:

1. The classifier's probabilities are calibrated on out-of-fold predictions of the train records.
2. Joint inference: the calibrated probabilities are soft evidence on all symptoms at once
   (`tasks.network.soft_evidence`), which updates the network's joint distribution of the symptoms given all other
   variables of the evidence.
3. A logarithmic opinion pool of text, network and joint inference for each symptom and evidence setting, with weights
   fitted on cross-fitted train records. It matters in the setting "all", where the network knows the other symptoms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import KFold

from schemas.errors import NetworkError
from schemas.evidence import EVIDENCE_SETTINGS, EvidenceSetting, evidence_columns
from schemas.params.baselines import Baselines
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines.arrays import Floats, Integers
from tasks.baselines.bn_tab import posteriors
from tasks.baselines.calibration import Calibration, fit_calibration
from tasks.baselines.neural_text import Job, classifiers_of, joint_targets, train_job
from tasks.baselines.neural_text_tab import EMBEDDING
from tasks.baselines.note_vectors import NoteVectors
from tasks.baselines.pooling import Pool, fit_pool, pool_inputs
from tasks.baselines.scoring import models_in
from tasks.baselines.targets import Target, labels_of, prediction_rows, targets_of
from tasks.baselines.workers import run_jobs
from tasks.network.fitting import fit
from tasks.network.graph import NetworkDefinition
from tasks.network.inference import joint, joint_posterior
from tasks.network.soft_evidence import likelihood_factors, marginal, updated

SYSTEM = "BN-text"
CALIBRATED = "neural-text calibrated"
FOLD_STREAM = 43

Fold = tuple[Integers, Integers]
"""Row numbers of the train records that are kept and held out."""
Key = tuple[str, EvidenceSetting]
BySymptom = dict[str, Floats]
ByVersion = dict[str, BySymptom]
PoolInputs = dict[Key, Floats]


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

    Includes the calibrated text classifier alone (``neural-text calibrated``), to separate the effects of calibration
    and network.
    """
    targets = targets_of(definition)
    splitter = KFold(params.calibration_folds, shuffle=True, random_state=np.random.RandomState([seed, FOLD_STREAM]))
    folds = list(splitter.split(train))
    held_out = held_out_text(definition, vectors, train, folds, params)
    calibrations = {version: _calibrations(text, train, targets) for version, text in held_out.items()}
    calibrated = {version: _calibrated(calibrations[version], text) for version, text in held_out.items()}
    fitting_inputs, rows_used = cross_fitted_inputs(definition, calibrated, train, folds, params, seed)
    pools = {version: _pools(inputs, train.iloc[rows_used], targets) for version, inputs in fitting_inputs.items()}

    inferred = infer(fit(definition, train, params.network, seed=seed), test, targets)
    rows = []
    for (version, number), raw in _by_version_and_seed(neural_text, targets).items():
        text = _calibrated(calibrations[version], raw)
        inputs = inputs_of(inferred, text, targets)
        made = [(CALIBRATED, EMBEDDING, target, text[target.symptom]) for target in targets]
        for target, setting in product(targets, EVIDENCE_SETTINGS):
            key = target.symptom, setting
            made.append((SYSTEM, setting, target, pools[version][key].apply(inputs[key])))
        for system, name, target, probabilities in made:
            condition = f"{version}/{name}"
            rows.append(prediction_rows(test, probabilities, target, system=system, condition=condition, seed=number))
    return pd.concat(rows, ignore_index=True)


def _pools(inputs: PoolInputs, train: pd.DataFrame, targets: Sequence[Target]) -> dict[Key, Pool]:
    pools: dict[Key, Pool] = {}
    for target in targets:
        labels, values = labels_of(train, target), len(target.values)
        for setting in EVIDENCE_SETTINGS:
            pools[target.symptom, setting] = fit_pool(inputs[target.symptom, setting], labels, values)
    return pools


def held_out_text(
    definition: NetworkDefinition,
    vectors: NoteVectors,
    train: pd.DataFrame,
    folds: Sequence[Fold],
    params: Baselines,
) -> ByVersion:
    """Probabilities (n, values) of each train record by the text classifier trained on the other folds, first seed."""
    one_seed = params.model_copy(update={"seeds": params.seeds[:1]})
    vectors = vectors.as_released(params.neural.as_released)
    places: list[tuple[str, Integers]] = []
    jobs: list[Job] = []
    for version in NOTE_VERSIONS:
        (inputs,) = vectors.inputs(EMBEDDING, version, train["record"].to_numpy())
        for kept, held_out in folds:
            for targets in joint_targets(definition):
                classifiers = classifiers_of(train.iloc[kept], inputs[kept], targets, definition)
                jobs.append(Job(version, targets, classifiers, inputs[held_out], one_seed))
                places.append((version, held_out))
    empty = {target.symptom: np.zeros((len(train), len(target.values))) for target in targets_of(definition)}
    gathered = {version: {symptom: zeros.copy() for symptom, zeros in empty.items()} for version in NOTE_VERSIONS}
    for (version, held_out), job, by_seed in zip(
        places, jobs, run_jobs(train_job, jobs, params.processes), strict=True
    ):
        for target, probabilities in zip(job.targets, by_seed[0], strict=True):
            gathered[version][target.symptom][held_out] = probabilities
    return gathered


def _calibrations(text: BySymptom, train: pd.DataFrame, targets: Sequence[Target]) -> dict[str, Calibration]:
    return {target.symptom: fit_calibration(text[target.symptom], labels_of(train, target)) for target in targets}


def _calibrated(calibrations: Mapping[str, Calibration], text: BySymptom) -> BySymptom:
    return {symptom: calibrations[symptom].apply(probabilities) for symptom, probabilities in text.items()}


def _by_version_and_seed(neural_text: pd.DataFrame, targets: Sequence[Target]) -> dict[tuple[str, int], BySymptom]:
    """Probabilities of neural-text on mean embeddings, by note version and seed."""
    wanted = [f"{version}/{EMBEDDING}" for version in NOTE_VERSIONS]
    found: dict[tuple[str, int], BySymptom] = {}
    for model in models_in(neural_text[neural_text["condition"].isin(wanted)], targets):
        for seed, probabilities in zip(model.seeds, model.probabilities, strict=True):
            found.setdefault((model.condition.split("/")[0], seed), {})[model.target.symptom] = probabilities
    return found


@dataclass(frozen=True)
class Inferred:
    """Inferences of a fitted network about records from their tabular evidence.

    ``prior`` is P(symptoms), (1, cards of the symptoms ...); ``posteriors`` are P(symptom | evidence), (n, values);
    ``joint`` is P(symptoms | evidence without symptoms), (n, cards of the symptoms ...).
    """

    prior: Floats
    posteriors: PoolInputs
    joint: dict[EvidenceSetting, Floats]


def infer(fitted: NetworkDefinition, records: pd.DataFrame, targets: Sequence[Target]) -> Inferred:
    """The inferences about ``records`` in every evidence setting."""
    symptoms = [target.symptom for target in targets]
    by_setting: dict[EvidenceSetting, Floats] = {}
    for setting in EVIDENCE_SETTINGS:
        columns = [name for name in evidence_columns(fitted, symptoms[0], setting) if name not in symptoms]
        by_setting[setting] = joint_posterior(fitted, records[columns], symptoms)
    keys = product(targets, EVIDENCE_SETTINGS)
    by_key = {(target.symptom, setting): posteriors(fitted, records, target, setting) for target, setting in keys}
    return Inferred(joint(fitted, symptoms)[None], by_key, by_setting)


def inputs_of(inferred: Inferred, text: Mapping[str, Floats], targets: Sequence[Target]) -> PoolInputs:
    """Inputs of the pools by symptom and setting: text, network and joint inference. ``text`` is calibrated."""
    factors = likelihood_factors(inferred.prior, [text[target.symptom] for target in targets])
    inputs: PoolInputs = {}
    for setting in EVIDENCE_SETTINGS:
        combined = updated(inferred.joint[setting], factors)
        for axis, target in enumerate(targets):
            key = target.symptom, setting
            inputs[key] = pool_inputs(text[target.symptom], inferred.posteriors[key], marginal(combined, axis))
    return inputs


def cross_fitted_inputs(
    definition: NetworkDefinition,
    text: ByVersion,
    train: pd.DataFrame,
    folds: Sequence[Fold],
    params: Baselines,
    seed: int,
) -> tuple[dict[str, PoolInputs], Integers]:
    """`inputs_of` train records by note version, each from a network fitted to the other folds; and their row numbers.

    With few records a fold's network may give a held-out record's evidence probability zero; such records are left out.
    """
    targets = targets_of(definition)
    parts: dict[str, list[PoolInputs]] = {version: [] for version in text}
    used: list[Integers] = []
    for kept, fold in folds:
        fitted = fit(definition, train.iloc[kept].reset_index(drop=True), params.network, seed=seed)
        held_out = fold[_possible(fitted, train.iloc[fold], targets)]
        if not held_out.size:
            continue
        inferred = infer(fitted, train.iloc[held_out].reset_index(drop=True), targets)
        used.append(held_out)
        for version, probabilities in text.items():
            held_out_text_of = {symptom: values[held_out] for symptom, values in probabilities.items()}
            parts[version].append(inputs_of(inferred, held_out_text_of, targets))
    rows = np.concatenate(used)
    order = np.argsort(rows)
    inputs: dict[str, PoolInputs] = {}
    for version, by_fold in parts.items():
        inputs[version] = {key: np.concatenate([part[key] for part in by_fold])[order] for key in by_fold[0]}
    return inputs, rows[order]


def _possible(fitted: NetworkDefinition, records: pd.DataFrame, targets: Sequence[Target]) -> npt.NDArray[np.bool_]:
    """Which records have evidence of nonzero probability in every setting, (n,)."""

    def possible(some: pd.DataFrame) -> bool:
        try:
            infer(fitted, some.reset_index(drop=True), targets)
        except NetworkError:
            return False
        return True

    if possible(records):
        return np.ones(len(records), dtype=bool)
    return np.array([possible(records.iloc[[row]]) for row in range(len(records))], dtype=bool)
