"""Text as confounder at its full size: 200 draws of 2,000 from 20,000 records with notes."""

import asyncio
from pathlib import Path

import pytest

from flows.runtime.params import load_params
from flows.stages.simulated_notes import run_text_confounding_published
from schemas.params.learning import TextConfounding
from tasks.confounding.coverage import EMBEDDINGS, MISSPECIFIED, NOISE, SPANS, TABLES, UNADJUSTED, WITHOUT_SYMPTOMS
from tests.support.memory_stage import MemoryStage

pytestmark = [pytest.mark.soak, pytest.mark.timeout(2400)]


def test_notes_adjust_in_part_for_symptoms_that_the_tables_lack(tmp_path: Path) -> None:
    params = load_params()
    params = params.model_copy(update={"text_confounding": TextConfounding(pool=20_000, draws=200, size=2000)})
    stage = MemoryStage(params, tmp_path)
    asyncio.run(run_text_confounding_published(stage))  # type: ignore[arg-type]
    table = stage.tables["text_confounding"].set_index(["metric", "system"])
    bias, coverage = table.loc["bias"], table.loc["coverage", "value"]
    print(table[["value", "low", "high"]].to_string())
    assert bias["value"][UNADJUSTED] > bias["value"][WITHOUT_SYMPTOMS] > 0.3
    assert bias["low"][TABLES] < 0 < bias["high"][TABLES]
    notes = bias["value"][[SPANS, EMBEDDINGS]]
    assert bias["high"][TABLES] < notes[SPANS] < notes[EMBEDDINGS] < bias["value"][WITHOUT_SYMPTOMS]
    assert coverage[UNADJUSTED] == 0 and coverage[TABLES] >= 0.9
    gaps = table.loc["effect_minus_tables"]
    assert gaps["high"][SPANS] < gaps["low"][WITHOUT_SYMPTOMS], "spans remove a part of the bias, notes as a whole less"
    assert abs(gaps["value"][NOISE]) < 0.02 and gaps["low"][WITHOUT_SYMPTOMS] > 0.2
    assert all(bias["low"][system] < 0.05 and bias["high"][system] > -0.05 for system in MISSPECIFIED)
