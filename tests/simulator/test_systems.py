"""The dry run of an evaluation: the reader ranks a faithful system above one with ten planted false claims."""

from pathlib import Path

import pytest

from flows.evaluation.api import evaluate, load_notes
from flows.repository.params import load_params
from tests.support.imports import ROOT
from tests.support.sources import needs_sources, sources_folder

FAITHFUL, FALSE = "big", "small"


@needs_sources
def test_a_faithful_system_comes_before_one_with_false_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGNETTE_WORKSPACE", str(tmp_path))
    folder = sources_folder()
    assert folder is not None
    notes = load_notes(folder / "cases" / "visits.jsonl")
    params = load_params(ROOT / "params.yaml")
    found = evaluate(notes, metrics=["doclens", "grounding"], judge="simulator", params=params).metrics
    values = found.pivot_table(index="metric", columns="system", values="value")
    for metric in ("claim_recall", "claim_precision", "claims_supported"):
        assert values.loc[metric, FAITHFUL] > values.loc[metric, FALSE], metric
    assert values.loc["claims_contradicted", FAITHFUL] < values.loc["claims_contradicted", FALSE]
