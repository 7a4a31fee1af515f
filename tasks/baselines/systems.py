"""All systems together: their provenance, the test records without a prediction, the pairs that are compared."""

from collections.abc import Sequence

import pandas as pd

from schemas.evidence import EVIDENCE_SETTINGS
from schemas.tables.columns import NOTE_VERSIONS
from tasks.baselines import bn_tab, bn_text, neural_text, neural_text_tab, xgboost_tab
from tasks.statistics.metric_rows import COMPUTED

TABULAR = (bn_tab.SYSTEM, xgboost_tab.SYSTEM)
TEXTUAL = (neural_text.SYSTEM, neural_text_tab.SYSTEM, bn_text.SYSTEM, bn_text.CALIBRATED)


def provenance_by_system(notes: Sequence[str], encoder: str) -> dict[str, str]:
    """Provenance of each system's numbers: writers of the notes and encoder; no model for the tabular systems."""
    text = f"notes: {', '.join(sorted(set(notes)))}; encoder: {encoder}"
    return {**dict.fromkeys(TABULAR, COMPUTED), **dict.fromkeys(TEXTUAL, text)}


def compared_pairs() -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """BN-text against calibrated neural-text and, in the same evidence setting, neural-text-tab; each note version."""
    pairs = []
    for version in NOTE_VERSIONS:
        for setting in EVIDENCE_SETTINGS:
            ours = (bn_text.SYSTEM, f"{version}/{setting}")
            mean = f"{version}/{neural_text_tab.EMBEDDING}"
            pairs.append((ours, (bn_text.CALIBRATED, mean)))
            pairs.append((ours, (neural_text_tab.SYSTEM, f"{version}/{setting}")))
    return pairs


def missing_rows(test_records: Sequence[int], predictions: pd.DataFrame) -> pd.DataFrame:
    """UNSCORED rows of test records without a note, for which the text models have no prediction."""
    predicted = set(predictions.loc[predictions["system"] == neural_text.SYSTEM, "record"])
    missing = sorted(set(test_records) - predicted)
    return pd.DataFrame(
        {
            "record": [str(record) for record in missing],
            "step": "embed",
            "reason": "no note in some version",
            "detail": None,
        }
    ).astype({"record": str, "step": str, "reason": str, "detail": "str"})
