"""Headline figures are values of the metric tables; absent ones are skipped."""

import pandas as pd
import pytest

from schemas.tables.metrics import METRICS
from tasks.reporting.headlines import FIGURES, headlines, reliability_curves, shares, with_intervals
from tasks.reporting.page import key_figures, key_rows
from tests.support.imports import ROOT

KEYS = ["system", "condition", "item", "metric", "value"]


def table(*rows: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=KEYS).astype({"value": float})


def tables() -> dict[str, pd.DataFrame]:
    empty = {key[0]: table() for group in FIGURES.values() for key in group.values()}
    return {
        **empty,
        "baselines": table(
            ("BN-tab", "all", "cough", "f1", 0.5),
            ("BN-tab", "all", "pain", "f1", 0.7),
            ("BN-tab", "all", "pain", "recall", 0.1),
            ("neural-text", "normal/hist", "pain", "f1", 0.9),
        ),
        "doclens": table(("compact notes", "json_cot", "all", "claim_recall", 0.76543)),
    }


def test_headlines_are_rounded_and_grouped() -> None:
    assert headlines(tables()) == {"doclens": {"claim_recall": 0.7654}, "f1": {"BN-tab": 0.6}}


def test_figures_with_intervals_are_those_of_the_tables_at_hand_and_a_weight_is_no_share() -> None:
    found = with_intervals({"doclens": tables()["doclens"].assign(low=0.7, high=0.8)})
    assert found == {"doclens/claim_recall": (0.76543, 0.7, 0.8)}
    figures = {"doclens": {"claim_recall": 0.7654}, "med_omit": {"omitted": 0.1, "weight": 0.3}, "f1": {"BN-tab": 0.6}}
    figures |= {"note_qa": {"normal": 0.5}, "judge": {"sensitivity": 0.9}}
    names, values = shares(figures).to_numpy().T.tolist()
    assert names == ["doclens claim_recall", "med_omit omitted", "note_qa normal", "judge sensitivity"]
    assert values == [0.7654, 0.1, 0.5, 0.9]


def test_reliability_pools_symptoms_weighted_by_n() -> None:
    rows = [("BN-tab", "all", "cough", "yes", 0, 0.05, 0.0, 30), ("BN-tab", "all", "pain", "yes", 0, 0.05, 0.2, 10)]
    rows += [("BN-tab", "all", "pain", "no", 0, 0.05, 1.0, 10), ("BN-tab", "realistic", "pain", "yes", 9, 0.9, 1.0, 5)]
    columns = ["system", "condition", "symptom", "value", "bin", "predicted", "observed", "n"]
    curves = reliability_curves(pd.DataFrame(rows, columns=columns))
    assert curves.to_dict("records") == [{"predicted": 0.05, "BN-tab": pytest.approx(0.05)}]


def test_each_headline_and_key_figure_is_in_the_committed_tables() -> None:
    found = {path.stem: pd.read_csv(path) for path in sorted((ROOT / "reports" / "tables").glob("*.csv"))}
    shown = {table: rows for table, rows in found.items() if set(METRICS.columns) <= set(rows.columns)}
    figures = headlines(shown)
    assert {group: set(names) for group, names in FIGURES.items()} == {group: set(figures[group]) for group in FIGURES}
    assert len(key_figures(shown)) == len(key_rows())
