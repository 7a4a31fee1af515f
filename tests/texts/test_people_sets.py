"""Published sets: what is read of their files, and what is refused."""

from pathlib import Path

import pytest

from schemas.errors import MissingSourceError, SourceError
from tasks.texts.aci_bench import read_encounters
from tasks.texts.judged_units import CHECKLISTS, CONSULTATIONS, STATEMENTS, read_k_qa, read_primock57
from tasks.texts.judged_units import K_QA as FILE

K_QA = "question,system,answer,claim,category,physician_1,physician_2,physician_3\n"


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_claims_of_an_answer_have_a_verdict_of_each_physician(tmp_path: Path) -> None:
    claims = "Why?,model,Because.,It is so.,Must Have,Entailment,Neutral,Contradiction\n"
    write(tmp_path, FILE, K_QA + claims + claims.replace("It is", "It was"))
    (document,), rows = read_k_qa(tmp_path)
    assert (document.heading, document.outputs) == ("Why?", {"model": "Because."})
    assert document.claims == {"all": ("It is so.", "It was so.")}
    assert [(row["judge"], row["unit"], row["value"]) for row in rows] == [
        (f"physician {number}", unit, float(number == 1)) for number in (1, 2, 3) for unit in ("0", "1")
    ]


def test_an_unknown_verdict_is_named(tmp_path: Path) -> None:
    write(tmp_path, FILE, K_QA + "Why?,model,Because.,It is so.,Must Have,Entailment,Maybe,Neutral\n")
    with pytest.raises(SourceError, match=r"'It is so\.': found mark 'Maybe'; expected Entailment, Neutral"):
        read_k_qa(tmp_path)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    write(tmp_path, FILE, K_QA.replace(",claim", "") + "Why?,model,Because.,x,Entailment,Neutral,Neutral\n")
    with pytest.raises(SourceError, match="no column claim; found question"):
        read_k_qa(tmp_path)


def test_statements_and_lists_of_a_consultation(tmp_path: Path) -> None:
    write(tmp_path, CONSULTATIONS, '{"consultation": "a", "transcript": "Doctor: Hi.", "clinician_note": "Cough."}\n')
    write(tmp_path, STATEMENTS, "consultation,note,statement,correct\na,1,Cough.,c\na,1,Fever.,i\n")
    wanted = "consultation,clinician,version,parent,fact,importance\n"
    first = "a,1,1,,cough,c\na,1,1,cough,dry,nc\na,1,1,,job,\n"
    write(tmp_path, CHECKLISTS, wanted + first + first.replace("a,1,1", "a,1,2") + "a,2,1,,cough,i\n")
    (document,), statements, facts = read_primock57(tmp_path)
    assert document.outputs == {"note 1": "Cough. Fever."}
    assert [(row["verdict"], row["value"]) for row in statements] == [("correct", 1.0), ("incorrect", 0.0)]
    assert [(row["unit"], row["text"], row["verdict"], row["value"]) for row in facts] == [
        ("clinician 1/0", "cough", "critical", 1.0),
        ("clinician 1/1", "cough > dry", "non-critical", 0.0),
        ("clinician 1/2", "job", None, None),
        ("clinician 2/0", "cough", "irrelevant", 0.0),
    ]  # the repeated list of clinician 1 is left out


def test_splits_of_aci_bench_are_read_together(tmp_path: Path) -> None:
    for at, split in enumerate(("test1", "test2")):
        write(tmp_path, f"aci_bench/{split}.csv", f"encounter_id,dialogue,note\ne{at},[doctor] hi,note {at}\n")
    found = read_encounters(tmp_path, {"s": "aci_bench/{split}.csv"}, ["test1", "test2"])
    assert [(one.id, one.outputs) for one in found] == [("e0", {"s": "note 0"}), ("e1", {"s": "note 1"})]
    with pytest.raises(SourceError, match=r"test3.csv: no such file"):
        read_encounters(tmp_path, {}, ["test1", "test3"])
    with pytest.raises(MissingSourceError):
        read_encounters(tmp_path, {}, ["test3"])
