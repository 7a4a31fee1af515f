"""Small record tables."""

import numpy as np
import pandas as pd

from tasks.domains.in_use import FOLDER
from tasks.network.definition import load_definition
from tasks.spans.matching import Match, match_phrases

HEALTHY = {
    "asthma": "no",
    "smoking": "no",
    "COPD": "no",
    "hay_fever": "no",
    "season": "summer",
    "pneumonia": "no",
    "common_cold": "no",
    "dyspnea": "no",
    "cough": "no",
    "pain": "no",
    "fever": "none",
    "nasal": "no",
    "policy": "low",
    "self_employed": "no",
    "antibiotics": "no",
    "days_at_home": 0,
}

NETWORK = load_definition(FOLDER / "respiratory" / "network.yaml")


def records_of(*changes: dict[str, object]) -> pd.DataFrame:
    """One record for each of ``changes`` to a healthy patient; record ids 0, 1, 2, ... unless given."""
    return pd.DataFrame([{"record": i, **HEALTHY, **change} for i, change in enumerate(changes)])


def random_records(n: int, seed: int = 0, *, symptom_share: float = 0.3) -> pd.DataFrame:
    """``n`` records with independent variables: unrealistic, but with every combination."""
    draw = np.random.default_rng(seed)
    frame = records_of(*[{}] * n)
    for column in [c for c, v in HEALTHY.items() if v == "no"]:
        frame[column] = np.where(draw.random(n) < symptom_share, "yes", "no")
    frame["fever"] = draw.choice(
        ["none", "low", "high"], n, p=[1 - symptom_share, symptom_share / 2, symptom_share / 2]
    )
    return frame


def match_phrase(note: str, phrase: str, *, sure: bool = False) -> Match | None:
    """`match_phrases` of one phrase."""
    return match_phrases(note, [("", phrase)], sure=sure)[0]


def span_row(
    record: int, version: str, symptom: str, text: str, *, start: int = 0, section: str = "history"
) -> dict[str, object]:
    """A span found verbatim at ``start``."""
    place = {"record": record, "version": version, "symptom": symptom, "start": start, "end": start + len(text)}
    return place | {"text": text, "section": section, "matched": "exact", "assertion": "present"}
