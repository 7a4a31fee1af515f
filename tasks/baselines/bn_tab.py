"""BN-tab: posterior of each symptom in the network with parameters fitted to the train records (3.2.1, F.1)."""

import pandas as pd

from schemas.params.records import Fit
from tasks.baselines.targets import Floats, Parts, Target, fitted_targets, lacking, prediction_rows, prediction_table
from tasks.network.fitting import fit
from tasks.network.graph import EVIDENCE_SETTINGS, EvidenceSetting, NetworkDefinition, evidence_columns
from tasks.network.inference import posterior

SYSTEM = "BN-tab"


def posteriors(fitted: NetworkDefinition, records: pd.DataFrame, target: Target, setting: EvidenceSetting) -> Floats:
    """P(symptom | evidence of the setting) for each record, (n, values)."""
    return posterior(fitted, records[evidence_columns(fitted, target.symptom, setting)], target.symptom)


def predict(parts: Parts, params: Fit, seed: int) -> pd.DataFrame:
    """PREDICTIONS of BN-tab in every evidence setting.

    Days at home are categories up to the highest count of the train records, the last one open ("15 or more").
    """
    if not (targets := fitted_targets(parts, lacking(parts))):
        return prediction_table([])
    fitted, test = fit(parts.definition, parts.train, params, seed=seed), parts.test
    rows = []
    for target in targets:
        for setting in EVIDENCE_SETTINGS:
            probabilities = posteriors(fitted, test, target, setting)
            rows.append(prediction_rows(test, probabilities, target, system=SYSTEM, condition=setting, seed=seed))
    return prediction_table(rows)
