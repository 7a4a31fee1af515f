"""DocLens's printed figures that need no judge, or are compared with the configured one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.tables.metrics import METRICS
from tasks.evaluation.doclens.outside import read_outputs
from tasks.evaluation.doclens.preferences import disagreements, section_preferences
from tasks.evaluation.doclens.reproduction import OPEN_SYSTEMS, reproduction_rows
from tasks.evaluation.doclens.reproduction_precision import precision_rows
from tasks.evaluation.doclens.reproduction_printed import nli_mean_rows, word_rows
from tasks.reproduction.verdict import judge
from tests.support.sources import needs_sources, sources_folder

BART, _, BIOBART, _ = OPEN_SYSTEMS
FILES = {
    BART: "aci_bench/predictions/bart-large-xsum-samsum_clinicalnlp_taskB_test1_full.csv",
    BIOBART: "aci_bench/predictions/BioBART_clinicalnlp_taskB_test1_full.csv",
}


def _printed(stem: str) -> pd.DataFrame:
    return pd.read_csv(Path("tasks/reproduction/published") / f"doclens_{stem}.csv")


def test_means_of_nli_accuracies_follow_from_the_printed_ones_but_for_two_models() -> None:
    rows = judge(reproduction_rows(nli_mean_rows(_printed("table1_nli"), _printed("table4_nli_2way"))))
    missed = rows[rows["verdict"] == "fail"].set_index(["row", "column"])["reproduced"]
    assert len(rows) == 27
    assert missed.to_dict() == {
        ("TRUE", "anli"): pytest.approx(71.73, abs=0.01),  # printed 71.5, the mean weighted by the size of the sets
        ("GPT-4 (2-shot) + CoT", "mean"): pytest.approx(87.93, abs=0.01),  # printed 88.2
        ("GPT-4 (2-shot) + CoT", "weighted_mean"): pytest.approx(87.93, abs=0.01),
    }


@needs_sources
def test_the_printed_mean_length_of_one_system_is_that_of_another() -> None:
    folder = sources_folder()
    assert folder is not None
    outputs = read_outputs(folder, FILES)
    rows = reproduction_rows(word_rows(_printed("section42_words"), outputs)).set_index("row")
    assert rows.loc[BART, "reproduced"] == pytest.approx(192.15)
    assert np.mean([len(text.split()) for text in outputs[BIOBART].values()]) == pytest.approx(179.4, abs=0.05)
    assert rows.loc["GPT-4 (full, 2-shot)", "basis"] == "absent"


def test_printed_precision_is_compared_with_means_over_notes_by_section() -> None:
    claims = [
        (name, BART, "c", "subjective", "claim_precision", at, "", judged)
        for name, verdicts in (("e", [True, False]), ("f", [True]))
        for at, judged in enumerate(verdicts)
    ]
    keys = ["document", "system", "condition", "item", "metric", "position", "text", "judged"]
    judged = pd.DataFrame(claims, columns=keys).astype({"judged": "boolean"})
    printed = (_printed("table21_aci_gpt4"), _printed("table25_aci_sections_gpt4"))
    rows = reproduction_rows(precision_rows(*printed, judged, basis="offline"))
    assert len(rows) == 4 + 16
    found = rows[rows["basis"] == "offline"].set_index(["table", "row"])
    assert found["reproduced"].to_dict() == {("Table 21", BART): 75, ("Table 25", f"Subjective / {BART}"): 75}
    values = np.array([48.11, 30.38, 42.43, 26.10])
    others = (values.sum() - values) / 3
    assert found.loc[("Table 21", BART), "tolerance"] == pytest.approx(np.abs(others - values).mean())
    assert set(reproduction_rows(precision_rows(*printed, None, basis="offline"))["basis"]) == {"absent"}


def test_metrics_disagree_on_a_pair_that_they_rank_in_opposite_order() -> None:
    assert disagreements([1, 0, 0.5], [0.2, 0.1, 0.9]) == (1, 3)
    assert disagreements([1, 1], [0, 1]) == (0, 1)  # a tie agrees with both orders


def test_preferences_of_claim_recall_and_rouge_are_compared_by_section() -> None:
    note = "PHYSICAL EXAM\nThe lungs are clear to auscultation.\nPLAN\nRest."
    texts = pd.DataFrame(
        {
            "document": ["e", "e"],
            "system": ["copies", "differs"],
            "text": [note, "PHYSICAL EXAM\nNo wheezes.\nPLAN\nRest."],
        }
    )
    sections = ["objective_exam", "assessment_and_plan"]
    scores = pd.DataFrame(
        [("e", system, item, "claim_recall", value) for item in sections for system, value in
         (("copies", 0.0), ("differs", 1.0))],
        columns=["document", "system", "item", "metric", "value"],
    )  # fmt: skip
    found = METRICS.validate(section_preferences(scores, texts, {"e": note}, seed=1, provenance="p"))
    value = found.set_index(["item", "system"])["value"]
    assert value["objective_exam", "claim_recall and rougeL_r"] == 1
    assert value["assessment_and_plan", "claim_recall and rougeL_r"] == 0
