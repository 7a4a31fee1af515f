"""Prompts follow SimSUM's Section 2.2, and depend only on the record and the seed."""

import json

import numpy as np
import pandas as pd
import pytest

from schemas.errors import TableError
from schemas.tables.records import PROMPTS
from tasks.domains.rules import load_rules
from tasks.notes.prompting import build_prompts, known_values
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


def test_a_leaked_symptom_and_a_fever_have_no_descriptor():
    frame = prompts(records_of(*[{"cough": "yes", "fever": "high", "pneumonia": "no"}] * 30))
    assert all(set(json.loads(d).values()) == {None} for d in frame["descriptors"])
    assert any("- fever: high\n" in text and "- cough: yes\n" in text for text in frame["prompt"])


def test_absent_symptoms_to_mention_are_named_absent():
    frame = prompts(records_of(*[{"cough": "yes", "asthma": "yes"}] * 60))
    text = "\n".join(frame["prompt"])
    assert "- respiratory pain: no\n" in text and "- fever: none\n" in text
    assert "- cough: yes, dry\n" in text and "- cough: yes, attack-related\n" in text


def test_orders_are_drawn_at_random():
    frame = prompts(records_of(*[{"cough": "yes", "asthma": "yes", "smoking": "yes"}] * 200))
    assert frame["mention"].nunique() > 20 and frame["conditions"].nunique() == 2


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


def test_a_missing_column_is_named():
    with pytest.raises(TableError, match="hay_fever"):
        prompts(records_of({}).drop(columns="hay_fever"))


def test_a_record_with_nothing_to_mention_gets_a_reason_for_the_visit():
    frame = prompts(records_of(*[{"pain": "yes"}] * 1500))
    row = frame[frame["mention"] == "[]"].iloc[0]
    assert row["kind"] == "symptoms" and row["prompt"].startswith("Task: write a clinical note for another complaint")
    assert "complaint outside the airways" in row["instructions"] and "must cover" not in row["prompt"]
    assert "no further symptoms" not in row["prompt"].lower() and "- respiratory pain\n" in row["instructions"]


def test_names_of_symptoms_come_with_what_they_cover():
    frame = prompts(records_of({"cough": "yes"}, {"COPD": "yes"}, {}))
    for text in [*frame["single_prompt"], *frame["prompt"]]:
        assert all(f"- {name}: {definition}\n" in text for name, definition in RULES.glossary.items())


def test_the_writer_does_not_know_the_symptoms_that_it_must_not_touch_on():
    frame = prompts(records_of(*[{"cough": "yes"}] * 30, {}))
    known = known_values(frame).set_index("record")
    for row in frame.to_dict("records"):
        hidden = json.loads(row["avoid"]) if row["kind"] == "symptoms" else []
        wanted = json.loads(row["values"]) | dict.fromkeys(hidden, "unknown")
        assert known.loc[row["record"]].to_dict() == wanted
    assert "unknown" in known.iloc[:30].to_numpy() and "unknown" not in known.iloc[30].to_numpy()
