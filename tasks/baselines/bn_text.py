r"""BN-text: the network and the text classifier combined as probabilities, as envisioned in SimSUM's Figure 1.

Text and tabular evidence are not independent given one symptom: the classifier infers a symptom also from what the note
says about other symptoms, which the network does again. Multiplying p_text(s) / p_train(s) with p_BN(s | evidence)
counts such information twice and is worse than the text alone (LOG.md). Instead:

1. The classifier's probabilities are calibrated on out-of-fold predictions of the train records.
2. Joint inference: the calibrated probabilities are soft evidence on all symptoms at once
   (`tasks.network.inference`), which updates the network's joint distribution of the symptoms given all other
   variables of the evidence.
3. A logarithmic opinion pool of text, network and joint inference for each symptom and evidence setting, with weights
   fitted on cross-fitted train records. It matters in the setting "all", where the network knows the other symptoms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from schemas.params.learning import Baselines
from schemas.params.records import Fit
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines import calibration
from tasks.baselines.bn_tab import posteriors
from tasks.baselines.neural_text import MEAN, make_job, train_job
from tasks.baselines.note_vectors import NoteVectors
from tasks.baselines.scoring import models_in
from tasks.baselines.targets import (
    Floats,
    Fold,
    Integers,
    Parts,
    Target,
    fitted_targets,
    labels_of,
    lacking,
    prediction_rows,
    prediction_table,
)
from tasks.baselines.workers import run_jobs
from tasks.network.fitting import fit
from tasks.network.graph import EVIDENCE_SETTINGS, EvidenceSetting, NetworkDefinition, evidence_columns
from tasks.network.inference import joint, joint_posterior, likelihood_factors, marginal, updated

SYSTEM = "BN-text"
CALIBRATED = "neural-text calibrated"
FOLD_STREAM = 43

Key = tuple[str, EvidenceSetting]
BySymptom = dict[str, Floats]
Designs = dict[Key, Floats]


def predict(
    parts: Parts, vectors: NoteVectors, neural_text: pd.DataFrame, params: Baselines, seed: int
) -> pd.DataFrame:
    """PREDICTIONS for each note version, evidence setting and seed, from those of neural-text on mean embeddings.

    Includes the calibrated text classifier alone (``neural-text calibrated``), to separate the effects of calibration
    and network.
    """
    train, targets = parts.train, fitted_targets(parts, cannot_fit(parts, params))
    if not targets:
        return prediction_table([])
    splitter = KFold(params.calibration_folds, shuffle=True, random_state=np.random.RandomState([seed, FOLD_STREAM]))
    folds = list(splitter.split(train))
    labels = {target.symptom: labels_of(train, target) for target in targets}
    calibrations: dict[str, BySymptom] = {}
    calibrated: dict[str, BySymptom] = {}
    for version, text in held_out_text(parts, targets, vectors, folds, params).items():
        calibrations[version] = {name: calibration.fit_calibration(p, labels[name]) for name, p in text.items()}
        calibrated[version] = _calibrated(calibrations[version], text)
    fitting, used = cross_fitted(parts, targets, calibrated, folds, params.network, seed)
    pools = {
        version: {key: calibration.fit_pool(design, labels[key[0]][used]) for key, design in designs.items()}
        for version, designs in fitting.items()
    }

    inferred = infer(fit(parts.definition, train, params.network, seed=seed), parts.test, targets)
    rows = []
    for (version, number), raw in _by_version_and_seed(neural_text, targets).items():
        text = _calibrated(calibrations[version], raw)
        designs = designs_of(inferred, text, targets)
        made = [(CALIBRATED, MEAN, target, text[target.symptom]) for target in targets]
        for target, setting in product(targets, EVIDENCE_SETTINGS):
            key = target.symptom, setting
            made.append((SYSTEM, setting, target, calibration.apply(designs[key], pools[version][key])))
        for system, name, target, probabilities in made:
            condition = f"{version}/{name}"
            rows.append(
                prediction_rows(parts.test, probabilities, target, system=system, condition=condition, seed=number)
            )
    return prediction_table(rows)


def cannot_fit(parts: Parts, params: Baselines) -> dict[str, str]:
    """Reasons by symptom: neural-text's, and too few train records to calibrate it by cross-validation."""
    return lacking(parts, records=params.calibration_folds, values=2)


def held_out_text(
    parts: Parts, targets: Sequence[Target], vectors: NoteVectors, folds: Sequence[Fold], params: Baselines
) -> dict[str, BySymptom]:
    """Probabilities (n, values) of each train record by note version and symptom, from classifiers of other folds.

    These read mean embeddings and are trained with the first seed.
    """
    one_seed, train = params.model_copy(update={"seeds": params.seeds[:1]}), parts.train
    vectors = vectors.as_released(params.neural.as_released)
    jobs, held_out = [], []
    for version in NOTE_VERSIONS:
        inputs = vectors.inputs(MEAN, version, train["record"].to_numpy())[0]
        for (kept, fold), target in product(folds, targets):
            of_fold = Parts(parts.definition, train.iloc[kept], train.iloc[fold])
            jobs.append(make_job(version, target, of_fold, [inputs[kept], inputs[fold]], one_seed))
            held_out.append(fold)
    found: dict[str, BySymptom] = {version: {} for version in NOTE_VERSIONS}
    for job, fold, (probabilities,) in zip(jobs, held_out, run_jobs(train_job, jobs, params.processes), strict=True):
        empty = np.zeros((len(train), len(job.target.values)))
        found[job.condition].setdefault(job.target.symptom, empty)[fold] = probabilities
    return found


def _calibrated(calibrations: Mapping[str, Floats], text: BySymptom) -> BySymptom:
    return {symptom: calibration.calibrated(calibrations[symptom], p) for symptom, p in text.items()}


def _by_version_and_seed(neural_text: pd.DataFrame, targets: Sequence[Target]) -> dict[tuple[str, int], BySymptom]:
    """Probabilities of neural-text on mean embeddings, by note version and seed."""
    wanted = [f"{version}/{MEAN}" for version in NOTE_VERSIONS]
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
    posteriors: dict[Key, Floats]
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


def designs_of(inferred: Inferred, text: Mapping[str, Floats], targets: Sequence[Target]) -> Designs:
    """Designs of the pools of text, network and joint inference. ``text`` is calibrated."""
    factors = likelihood_factors(inferred.prior, [text[target.symptom] for target in targets])
    designs: Designs = {}
    for setting in EVIDENCE_SETTINGS:
        combined = updated(inferred.joint[setting], factors)
        for axis, target in enumerate(targets):
            key = target.symptom, setting
            models = text[target.symptom], inferred.posteriors[key], marginal(combined, axis)
            designs[key] = calibration.pool_design(*models)
    return designs


def cross_fitted(
    parts: Parts,
    targets: Sequence[Target],
    text: Mapping[str, BySymptom],
    folds: Sequence[Fold],
    params: Fit,
    seed: int,
) -> tuple[dict[str, Designs], Integers]:
    """`designs_of` train records by note version, each from a network fitted to the other folds; and their row numbers.

    A fitted network holds no record for impossible, so that each fold's network knows the others' evidence.
    """
    found: dict[str, list[Designs]] = {version: [] for version in text}
    for kept, fold in folds:
        fitted = fit(parts.definition, parts.train.iloc[kept].reset_index(drop=True), params, seed=seed)
        inferred = infer(fitted, parts.train.iloc[fold].reset_index(drop=True), targets)
        for version, probabilities in text.items():
            of_fold = {symptom: values[fold] for symptom, values in probabilities.items()}
            found[version].append(designs_of(inferred, of_fold, targets))
    designs = {
        version: {key: np.concatenate([part[key] for part in by_fold]) for key in by_fold[0]}
        for version, by_fold in found.items()
    }
    return designs, np.concatenate([fold for _, fold in folds])
