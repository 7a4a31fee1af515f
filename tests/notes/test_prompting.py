"""Prompts follow SimSUM's Section 2.2, and depend only on the record and the seed."""

import json

import numpy as np
import pandas as pd
import pytest

from schemas.errors import TableError
from schemas.params.records import Prompting
from schemas.tables.records import PROMPTS
from tasks.domains.rules import load_rules
from tasks.notes.prompting import build_prompts
from tests.support.records import NETWORK, random_records, records_of

RULES = load_rules()


def prompts(records: pd.DataFrame, seed: int = 7) -> pd.DataFrame:
    return build_prompts(records, NETWORK, RULES, seed)


def test_the_table_fits_its_schema_and_prompts_hide_diagnoses_and_context():
    records = random_records(300)
    frame = prompts(records)
    PROMPTS.validate(frame)
    for text in frame["prompt"]:
        for hidden in ("pneumonia", "common cold", "season", "winter", "policy", "antibiotics"):
            assert hidden not in text


def test_a_prompt_is_a_function_of_its_record_and_the_seed():
    records = random_records(200)
    everyone = prompts(records).set_index("record")
    some = prompts(records.sample(60, random_state=1)).set_index("record")
    columns = [c for c in everyone.columns if c not in ("call", "slot")]
    pd.testing.assert_frame_equal(everyone.loc[some.index, columns], some[columns])
    assert (prompts(records, seed=8).set_index("record")["prompt"] != everyone["prompt"]).mean() > 0.5


def test_symptoms_are_mentioned_with_the_published_probabilities():
    n = 4000
    frame = prompts(records_of(*[{"cough": "yes", "fever": "low"}] * n))
    mentioned = [set(json.loads(m)) for m in frame["mention"]]
    expected = {"cough": 0.95, "fever": 0.70, "dyspnea": 0.75, "pain": 0.30, "nasal": 0.10}
    for symptom, probability in expected.items():
        share = np.mean([symptom in m for m in mentioned])
        assert abs(share - probability) < 4 * np.sqrt(probability * (1 - probability) / n), symptom


def test_pneumonia_overrules_the_cold_which_overrules_all_other_causes():
    both = {"cough": "yes", "pneumonia": "yes", "common_cold": "yes", "asthma": "yes", "COPD": "yes"}
    cold = {**both, "pneumonia": "no"}
    causes = [json.loads(c)["cough"] for c in prompts(records_of(both, cold))["causes"]]
    assert causes[0] in (["pneumonia"], []) and causes[1] in (["common_cold"], [])
    frame = prompts(records_of(*[{**cold, "common_cold": "no"}] * 400))
    drawn = [json.loads(d)["cough"] for d in frame["descriptors"]]
    bag = {*RULES.descriptors["cough"]["asthma"], *RULES.descriptors["cough"]["COPD"]}
    assert {d for d in drawn if d} == bag
    mentioned = frame["mention"].str.contains('"cough"')
    assert all(json.loads(c)["cough"] == ["asthma", "COPD"] for c in frame.loc[mentioned, "causes"])


def test_a_cold_does_not_overrule_the_causes_of_a_symptom_it_does_not_cause():
    frame = prompts(records_of(*[{"dyspnea": "yes", "common_cold": "yes", "smoking": "yes"}] * 40))
    found = {tuple(json.loads(c)["dyspnea"]) for c in frame["causes"]}
    assert found == {("smoking",), ()}


def test_asthma_gives_descriptors_of_pain_although_it_is_not_its_parent():
    frame = prompts(records_of(*[{"pain": "yes", "asthma": "yes"}] * 60))
    assert {json.loads(d)["pain"] for d in frame["descriptors"]} == {"tension behind sternum", None}


def test_the_three_kinds_of_prompt():
    frame = prompts(records_of({"cough": "yes"}, {"COPD": "yes"}, {}, {"fever": "low"}))
    assert list(frame["kind"]) == ["symptoms", "conditions", "unrelated", "symptoms"]
    assert all(f"- {RULES.labels[s]}" in frame["prompt"][1] for s in RULES.symptoms)
    assert "- COPD" in frame["prompt"][1] and "three clinical notes" in frame["prompt"][2]
    assert "three" not in frame["single_prompt"][2]
    assert all(f"- {RULES.labels[c]}" in frame["prompt"][2] for c in RULES.conditions)


def test_notes_written_three_at_a_time_are_dealt_once_each():
    frame = prompts(records_of(*[{}] * 31))
    assert frame.groupby("call").size().sort_values().tolist() == [1] + [3] * 10
    assert not frame.duplicated(["call", "slot"]).any()
    assert (frame["call"] != frame["record"] // 3 * 3).any()
    assert frame.loc[frame["slot"] == 0, "call"].tolist() == frame.loc[frame["slot"] == 0, "record"].tolist()


def test_a_value_that_the_rules_do_not_know_is_named():
    with pytest.raises(TableError, match=r"record 0: fever is 'mild'; expected one of"):
        prompts(records_of({"cough": "yes", "fever": "mild"}))


def test_a_record_with_nothing_to_mention_has_the_ordinary_prompt_without_the_list() -> None:
    records = records_of(*[{"pain": "yes"}] * 1500)
    row = prompts(records).query("mention == '[]'").iloc[0]
    assert row["kind"] == "symptoms" and "must mention" not in row["prompt"]
    assert "must not be mentioned:" in row["instructions"] and "- respiratory pain\n" in row["instructions"]
    assert "but no further symptoms" in row["prompt"] and "complaint" not in row["prompt"]


def test_a_record_with_nothing_to_mention_may_be_given_another_complaint() -> None:
    params = Prompting(nothing_to_mention="other_complaint")
    frame = build_prompts(records_of(*[{"pain": "yes"}] * 1500), NETWORK, RULES, 7, params)
    asked = frame["instructions"].str.contains("complaint outside the airways")
    assert (asked == (frame["mention"] == "[]")).all() and asked.any()
    assert not frame.loc[asked, "prompt"].str.contains("no further symptoms").any()
