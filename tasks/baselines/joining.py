"""All models' predictions together: who made them, which test records have none, which models are compared."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from schemas.evidence import EVIDENCE_SETTINGS
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines import bn_tab, bn_text, neural_text, neural_text_tab, xgboost_tab
from tasks.baselines.scoring import STAGE

TABULAR = (bn_tab.SYSTEM, xgboost_tab.SYSTEM)
TEXTUAL = (neural_text.SYSTEM, neural_text_tab.SYSTEM, bn_text.SYSTEM, bn_text.CALIBRATED)


def provenance_by_system(notes: Sequence[str], encoder: str) -> dict[str, str]:
    """What made each system's numbers: nothing but records for tabular models, notes and encoder for the others."""
    text = f"notes: {', '.join(sorted(set(notes)))}; encoder: {encoder}"
    return {**dict.fromkeys(TABULAR, "computed, no model"), **dict.fromkeys(TEXTUAL, text)}


def compared_pairs() -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """BN-text against neural-text and neural-text-tab in the same evidence setting, for each note version."""
    pairs = []
    for version in NOTE_VERSIONS:
        for setting in EVIDENCE_SETTINGS:
            ours = (bn_text.SYSTEM, f"{version}/{setting}")
            mean = f"{version}/{neural_text_tab.EMBEDDING}"
            pairs.append((ours, (neural_text.SYSTEM, mean)))
            pairs.append((ours, (neural_text_tab.SYSTEM, f"{version}/{setting}")))
    return pairs


def missing_rows(test_records: Sequence[int], predictions: pd.DataFrame) -> pd.DataFrame:
    """UNSCORED rows of test records that the text models could not be asked about, for want of a note."""
    told = set(predictions.loc[predictions["system"] == neural_text.SYSTEM, "record"])
    missing = sorted(set(test_records) - told)
    return pd.DataFrame(
        {
            "record": [str(record) for record in missing],
            "step": "embed",
            "reason": "no note in some version",
            "detail": None,
        }
    ).astype({"record": str, "step": str, "reason": str, "detail": "str"})


def tuned_rows(tuned: pd.DataFrame, train: int, seed: int) -> pd.DataFrame:
    """METRICS rows of what XGBoost-tab chose: each hyper-parameter, and the mean F1 in cross-validation as ``cv_f1``.

    The condition names the grid that was searched.
    """
    rows = []
    for chosen in tuned.to_dict("records"):
        shared = {
            "stage": STAGE,
            "system": xgboost_tab.SYSTEM,
            "condition": f"{chosen['setting']}, {chosen['grid']} grid of {chosen['combinations']}",
            "item": chosen["symptom"],
        }
        ending = {"low": np.nan, "high": np.nan, "n": train, "unscored": 0, "seed": str(seed)}
        names = [name for name in tuned.columns if name not in ("symptom", "setting", "grid", "combinations", "score")]
        values = {"cv_f1": chosen["score"], **{name: chosen[name] for name in names}}
        rows += [
            {**shared, "metric": name, "value": float(value), **ending, "provenance": "computed, no model"}
            for name, value in values.items()
        ]
    return pd.DataFrame(rows)
