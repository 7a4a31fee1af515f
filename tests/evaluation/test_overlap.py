"""Overlap metrics, SOAP parts, and agreement between metrics, on texts small enough to count by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from schemas.params.overlap import Overlap
from schemas.tables.metrics import METRICS, SCORES
from tasks.evaluation.overlap.metric_agreement import agreement_rows, omission_correlations
from tasks.evaluation.overlap.scores import EMPTY_PART, bert_score, bleu, length, part_texts, rouge
from tasks.evaluation.overlap.tables import (
    beside_claims,
    overlap_rows,
    score_compact_notes,
    score_systems,
    score_texts,
    system_rows,
)
from tasks.text.soap import split_soap
from tests.support.nli import save_classifier

NOTE = "CHIEF COMPLAINT\nCough.\n\nPHYSICAL EXAM\nLungs: clear.\n\nRESULTS\nX-ray normal.\n\nASSESSMENT AND PLAN\nRest."


def test_rouge_counts_shared_words() -> None:
    found = rouge(["the cat sat on the mat"], ["the cat sat"]).iloc[0]
    assert found["rouge1_p"] == 1
    assert found["rouge1_r"] == pytest.approx(3 / 6)
    assert found["rouge1_f"] == pytest.approx(2 / 3)
    assert found["rouge2_r"] == pytest.approx(2 / 5)


def test_an_empty_output_overlaps_nothing_and_has_no_words() -> None:
    assert (rouge(["a cough"], [""]).iloc[0] == 0).all()
    assert bleu(["a cough"], [""])["bleu"].tolist() == [0]
    assert length(["", "dry cough"])["words"].tolist() == [0, 2]


def test_soap_parts_run_to_the_next_heading_and_missing_ones_are_marked() -> None:
    assert list(split_soap(NOTE)) == ["subjective", "objective_exam", "objective_results", "assessment_and_plan"]
    assert split_soap(NOTE)["objective_exam"] == "PHYSICAL EXAM\nLungs: clear.\n\n"
    assert split_soap("He coughs.") == {"subjective": "He coughs."}
    assert part_texts(["He coughs."], "objective_exam") == [EMPTY_PART]


def test_a_bertscore_model_that_is_not_there_is_a_reason_not_a_score(tmp_path) -> None:
    found, reason = bert_score(["a"], ["b"], model=str(tmp_path / "none"), layer=1)
    assert found is None
    assert reason and "none" in reason


def test_bertscore_by_a_models_folder(tmp_path: Path) -> None:
    params = Overlap(bert_score_model=str(save_classifier(tmp_path / "model")), bert_score_layer=1)
    same, long = "the lungs are clear", "no wheeze " * 40  # longer than the model reads
    scored, absent = score_texts([same, same, long], [same, " ", same], params)
    assert "bertscore" not in absent
    assert scored["bertscore_f1"].tolist()[:2] == pytest.approx([1, 0], abs=1e-5)
    assert scored["bertscore_r"].notna().all()
    _, reason = bert_score([same], [same], model=str(tmp_path / "model"), layer=99)
    assert reason and reason.startswith("BERTScore model")


def test_absent_metrics_are_listed_with_their_requirements() -> None:
    notes = pd.DataFrame({"record": [1, 2], "note": ["dry cough", "no fever"]})
    compact = pd.DataFrame({"record": [1, 2], "compact": ["cough", ""]})
    scored, absent = score_compact_notes(notes, compact, {"1", "2"}, Overlap())
    SCORES.validate(scored)
    rows = METRICS.validate(overlap_rows(scored, absent, seed=1)).set_index("metric")
    assert {"bertscore", "bleurt", "medcon", "f1_radgraph"} <= set(rows.index)
    assert rows.loc["medcon", "provenance"].startswith("absent: needs a UMLS licence")
    assert np.isnan(rows.loc["medcon", "value"])
    assert rows.loc["rouge1_r", "value"] == pytest.approx(1 / 4)  # 1/2 and 0


TEXTS = pd.DataFrame(
    {
        "document": ["1", "2", "1", "2"],
        "system": ["a", "a", "b", "b"],
        "text": ["dry cough", "no fever", "dry", "wheeze"],
    }
)
REFERENCES = {"1": "dry cough", "2": "no fever"}


def test_overlap_scores_of_systems_are_joined_with_claim_scores() -> None:
    scored, absent = score_systems(TEXTS, REFERENCES, Overlap())
    claims = pd.DataFrame(
        {"document": ["1", "2"], "system": "a", "item": "all", "metric": "claim_recall", "value": 1.0}
    )
    together = beside_claims(scored, claims)
    assert together["claim_recall"].tolist()[:2] == [1, 1]
    assert together["claim_recall"].isna().tolist() == [False, False, True, True]
    rows = METRICS.validate(system_rows(scored, absent, stage="s", seed=1)).set_index(["system", "metric"])["value"]
    assert rows["a", "rouge1_r"] == 1
    assert rows["b", "rouge1_r"] == pytest.approx(1 / 4)
    assert ("all systems", "bleurt") in rows.index


def test_kendalls_tau_over_notes_and_over_systems() -> None:
    scores = pd.DataFrame(
        {
            "system": ["a", "a", "b", "b"],
            "one": [1.0, 2.0, 3.0, 4.0],
            "two": [1.0, 3.0, 2.0, 4.0],  # one of six pairs of notes is discordant: tau (5 - 1) / 6
        }
    )
    rows = agreement_rows(
        scores, stage="s", condition="c", seed=1, provenance="p", groups=[["one", "two", "absent"], ["one"]]
    )
    found = METRICS.validate(rows).set_index(["system", "metric"])
    assert found.loc[("notes", "kendall"), "value"] == pytest.approx(4 / 6)
    assert found.loc[("systems", "kendall"), "value"] == 1
    assert found.loc[("systems", "kendall"), "n"] == 2


def test_correlations_with_omissions_have_p_values() -> None:
    scores = pd.DataFrame(
        {"system": "s", "weight": [1.0, 2.0, 3.0, 4.0], "count": [1, 1, 1, 1], "rouge1_f": [4.0, 3.0, 2.0, 1.0]}
    )
    rows = omission_correlations(scores, ["rouge1_f", "absent"], stage="s", condition="c", seed=1, provenance="p")
    found = METRICS.validate(rows).set_index(["item", "metric"])["value"]
    assert found["weight and rouge1_f", "spearman"] == pytest.approx(-1)
    assert found["weight and rouge1_f", "pearson"] == pytest.approx(-1)
    assert found["weight and rouge1_f", "pearson_p"] == pytest.approx(0, abs=1e-6)
    assert np.isnan(found["count and rouge1_f", "spearman"])  # a constant correlates with nothing
