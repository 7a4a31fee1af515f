"""A judge's agreement with people, on the card next to planted errors, and people's among themselves."""

import json
from pathlib import Path

import pandas as pd
import pytest

from flows.commands.parser import run
from tasks.texts.judged_units import K_QA as FILE

CLAIMS = ["A fever is common.", "Rest helps.", "The drug is safe.", "Call a doctor."]
PHYSICIANS = [("Entailment", "Entailment", "Neutral"), ("Entailment",) * 3, ("Neutral",) * 3, ("Neutral",) * 3]


def answers(folder: Path) -> Path:
    """Six answers that state the first two of four claims; two of three physicians take both from them."""
    rows = [
        f"Why {n}?,model,{CLAIMS[0]} {CLAIMS[1]},{claim},Must Have,{','.join(marks)}"
        for n in range(6)
        for claim, marks in zip(CLAIMS, PHYSICIANS, strict=True)
    ]
    (folder / FILE).parent.mkdir(parents=True)
    header = "question,system,answer,claim,category,physician_1,physician_2,physician_3"
    (folder / FILE).write_text("\n".join([header, *rows]))
    return folder


def test_the_card_has_the_judge_s_agreement_next_to_that_of_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "texts.jsonl").write_text(
        json.dumps({"id": "a", "source": "Dry cough for two weeks. The fever is high."})
    )
    common = ["audit", "mine=simulator", "--cases", "20", "--tasks", "claims", "--texts", str(tmp_path / "texts.jsonl")]
    out = tmp_path / "card"
    assert run([*common, "--people", str(answers(tmp_path / "data")), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    found = pd.read_csv(out / "people.csv").query("metric == 'kappa'").set_index(["system", "condition", "item"])
    with_majority = found.loc[("mine (simulator's rules)", "strict", "K-QA, claim entailed, against majority")]
    assert (with_majority["value"], with_majority["n"]) == (1, 24)
    # Physician 3 says yes to 6 claims, the others to 12: agreement 18/24, by chance 1/2.
    between = found.loc[("physician 3", "people", "K-QA, claim entailed, against physician 1")]
    assert between["value"] == pytest.approx((0.75 - 0.5) / 0.5)
    assert "K-QA, claim entailed, against majority" in said and "clinician" in said
    assert "Judged as people judge" in (out / "card.html").read_text()


@pytest.mark.parametrize("more", [["--dry-run"], []])
def test_a_folder_without_people_s_verdicts_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    assert run(["audit", "simulator", "--people", str(tmp_path), *more]) == 1
    assert f"--people {tmp_path}: no k_qa/judgements.csv or primock57/statements.csv" in capsys.readouterr().err
