"""What spans assert is measured on the simulated writer's own and on planted sentences, whose truth is certain."""

import asyncio
from collections import Counter

import pandas as pd
import pytest

from schemas.tables.metrics import METRICS
from schemas.tables.records import ASSERTIONS
from schemas.tables.verdicts import verdict_table
from tasks.audit.planted_assertions import METRICS as RIGHT
from tasks.audit.planted_assertions import PLANTED, WRITTEN, plant_assertions, read_assertions
from tasks.domains.rules import load_rules
from tasks.judges.edits import words
from tasks.judges.simulated_notes import GoldNotes, write_gold
from tasks.llm.calls import Call
from tasks.measures.measure import figures
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.spans.assertion import AssertionReply
from tests.support.records import NETWORK
from tests.support.scripted import ScriptedAsk

RULES = load_rules()
LABELS = RULES.symptom_labels


@pytest.fixture(scope="module")
def gold() -> GoldNotes:
    return write_gold(build_prompts(sample(NETWORK, 30, 3), NETWORK, RULES, 3))


def test_each_class_has_as_many_phrases_in_notes_that_are_silent_on_the_symptom(gold: GoldNotes) -> None:
    planted = plant_assertions(gold["normal"], LABELS, 7, first=50, seed=1)
    assert Counter(planted["truth"]) == dict.fromkeys(ASSERTIONS, 7)
    assert planted["record"].tolist() == list(range(50, 85))
    silent: dict[str, set[str]] = {symptom: set() for symptom in LABELS}
    for note in gold["normal"].values():
        for symptom in LABELS.keys() - {span.symptom for span in note.spans}:
            silent[symptom].add(note.text)
    for row in planted.itertuples():
        sentence = row.sentence.replace("[", "").replace("]", "")
        label = LABELS[row.symptom]
        sentence = sentence.format(symptom=label, Symptom=label[0].upper() + label[1:])
        assert row.note[row.start : row.end] == row.text and label in row.text.lower()
        assert row.note.replace(f" {sentence}", "", 1) in silent[row.symptom]
        assert row.start < row.note.index("Physical Examination")
    pd.testing.assert_frame_equal(planted, plant_assertions(gold["normal"], LABELS, 7, first=50, seed=1))


def test_all_sentences_of_a_class_and_all_symptoms_are_used(gold: GoldNotes) -> None:
    planted = plant_assertions(gold["normal"], LABELS, 20, first=0, seed=1)
    for truth, part in planted.groupby("truth"):
        assert set(part["sentence"]) == set(words("assertions", "tasks.audit")[truth]) and set(part["symptom"]) == set(
            LABELS
        )
    twice = plant_assertions(gold["normal"], LABELS, 40, first=0, seed=1)
    assert not twice.duplicated(["sentence", "symptom"]).any()


def test_no_note_is_silent_on_what_all_mention(gold: GoldNotes) -> None:
    talkative = {
        record: note for record, note in gold["normal"].items() if any(s.symptom == "cough" for s in note.spans)
    }
    assert "cough" not in set(plant_assertions(talkative, LABELS, 10, first=0, seed=1)["symptom"])
    assert plant_assertions({}, LABELS, 10, first=0, seed=1).empty


def test_without_planted_phrases_only_the_written_ones_are_asked_about(gold: GoldNotes) -> None:
    def absent(call: Call) -> AssertionReply:
        numbers = range(1, call.messages[-1].content.count('" in "') + 1)
        return AssertionReply.model_validate({"assertions": [{"number": n, "assertion": "absent"} for n in numbers]})

    ask = ScriptedAsk(absent)
    cases, failures = asyncio.run(read_assertions(gold, LABELS, 0, ask, seed=1))
    assert set(cases["condition"]) == {f"{WRITTEN}, normal", f"{WRITTEN}, compact"} and failures == []
    assert len(ask.calls) == cases["document"].nunique()
    present = [span.present for own in gold.values() for known in own.values() for span in known.spans]
    assert Counter(cases["item"]) == {"present": present.count(True), "absent": present.count(False)}
    accuracy = accuracy_of(cases)["value"]
    for version in ("normal", "compact"):
        assert accuracy[f"{WRITTEN}, {version}"][["present", "absent"]].tolist() == [0, 1]


def case(record: int, truth: str, said: str | None, sentence: str | None = None) -> dict[str, object]:
    about = {"document": sentence or str(record), "system": "annotator", "metric": "right", "text": "Cough"}
    about |= {"condition": f"{PLANTED if sentence else WRITTEN}, normal", "item": truth, "unit": str(record)}
    return {**about, "value": None if said is None else float(said == truth)}


def accuracy_of(cases: pd.DataFrame) -> pd.DataFrame:
    table = figures(cases, RIGHT, stage="s", seed=0, provenance="p")
    return METRICS.validate(table).set_index(["condition", "item"])


def test_accuracy_by_class_counts_phrases_without_an_assertion_as_unscored() -> None:
    rows = [case(1, "present", "absent"), case(2, "present", None), case(3, "absent", None)]
    found = accuracy_of(verdict_table(rows, judge="j"))
    assert found.loc[(f"{WRITTEN}, normal", "present"), ["value", "n", "unscored"]].tolist() == [0, 1, 1]
    assert found.loc[(f"{WRITTEN}, normal", "all"), ["value", "n", "unscored"]].tolist() == [0, 1, 2]
    assert found.loc[(f"{WRITTEN}, normal", "absent"), ["n", "unscored"]].tolist() == [0, 1]


def test_the_phrases_of_one_planted_sentence_are_one_cluster() -> None:
    def width(sentences: list[str]) -> float:
        rows = [case(at, "past", "past" if at < 20 else "present", sentences[at]) for at in range(40)]
        row = accuracy_of(verdict_table(rows, judge="j")).loc[f"{PLANTED}, normal", "past"]
        assert (row["value"], row["n"]) == (0.5, 40)
        return float(row["high"] - row["low"])

    alike = width([f"[{at // 4}]" for at in range(40)])
    assert alike > 1.5 * width([f"[{at}]" for at in range(40)])
