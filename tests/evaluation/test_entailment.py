"""The offline evaluator: claim by claim, and against GPT-4 on the published cells."""

import asyncio
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tasks.evaluation.calibration.changes import KINDS, change
from tasks.evaluation.doclens.dialogue_work import embedded_recalls, present_shares
from tasks.evaluation.doclens.outside import read_aci_bench, read_outputs, read_subclaims
from tasks.evaluation.doclens.reproduction import (
    OPEN_SYSTEMS,
    distance_metrics,
    recall_rows,
    reproduction_rows,
    rouge_rows,
    section_recalls,
    whole_note_rows,
)
from tasks.evaluation.documents.encounters import encounter_documents
from tasks.simulator.judge.entailment import align, entails
from tasks.simulator.judge.lexicon import lexicon, stem
from tasks.text.soap import PARTS
from tests.support.sources import needs_sources, sources_folder

PUBLISHED = Path("tasks/reproduction/published")
FILES = {
    "BART + SAMSum FT (full)": "bart-large-xsum-samsum_clinicalnlp_taskB_test1_full",
    "BART + SAMSum FT (section)": "bart-large-xsum-samsum_clinicalnlp_taskB_test1_division_combined",
    "BioBART (full)": "BioBART_clinicalnlp_taskB_test1_full",
    "BioBART (section)": "BioBART_clinicalnlp_taskB_test1_division_combined",
}
NOTE = """HISTORY OF PRESENT ILLNESS

Ms. Reed is a 54-year-old female who reports shortness of breath for 3 weeks. She denies chest pain, fever, or chills.
She takes lisinopril 20 mg daily.

PHYSICAL EXAM

Lungs: Clear bilaterally. No wheezes.
Right knee: Swelling and tenderness. Negative Lachman.

ASSESSMENT AND PLAN

Hypertension.
• Medical Treatment: Continue lisinopril 20 mg daily.
"""


@pytest.mark.parametrize(
    "claim",
    [
        "The patient is 54 years old.",
        "The patient has had dyspnea for three weeks.",
        "The patient does not have a fever.",
        "The patient has no chest pain.",
        "The right knee is swollen.",
        "There is no wheezing.",
        "The patient has hypertension.",
        "Lisinopril 20 mg daily will be continued for hypertension.",
        "The Lachman test of the right knee is negative.",
    ],
)
def test_paraphrases_are_entailed(claim: str) -> None:
    assert entails(NOTE, claim), align(NOTE, claim)


@pytest.mark.parametrize(
    "claim",
    [
        "The patient is 45 years old.",
        "The patient has had dyspnea for five weeks.",
        "The patient has a fever.",
        "The patient reports chest pain.",
        "The left knee is swollen.",
        "The right elbow is swollen.",
        "There is wheezing.",
        "The patient does not have hypertension.",
        "The patient takes metformin 20 mg daily.",
        "Lisinopril 40 mg daily will be continued.",
        "The patient has diabetes.",
    ],
)
def test_changed_claims_are_not_entailed(claim: str) -> None:
    assert not entails(NOTE, claim), align(NOTE, claim)


SWAPS = [
    ("She was started on apixaban for atrial fibrillation.", "apixaban", "dabigatran"),
    ("He is on rivaroxaban after his pulmonary embolism.", "rivaroxaban", "edoxaban"),
    ("Continue ticagrelor for one year.", "ticagrelor", "prasugrel"),
    ("He takes doxazosin at night for his prostate.", "doxazosin", "oxybutynin"),
    ("Aripiprazole was added for depression.", "Aripiprazole", "Lamotrigine"),
    ("He received cisplatin for his lung cancer.", "cisplatin", "paclitaxel"),
    ("Ezetimibe 10 mg was added to her regimen.", "Ezetimibe", "Fenofibrate"),
]


@pytest.mark.parametrize(("text", "drug", "other"), SWAPS)
def test_a_drug_outside_the_word_lists_is_not_entailed_by_another(text: str, drug: str, other: str) -> None:
    listed = lexicon().drugs
    assert stem(drug.lower()) not in listed and stem(other.lower()) not in listed
    assert entails(text, text)
    assert not entails(text, text.replace(drug, other))


@pytest.mark.parametrize(
    ("text", "claim", "entailed"),
    [
        ("The pain may be muscular in origin.", "The patient has muscular pain.", False),
        ("Pneumonia is suspected.", "The patient has pneumonia.", False),
        ("Right knee pain, likely osteoarthritis.", "The patient has osteoarthritis of the right knee.", False),
        ("Right knee pain, likely osteoarthritis.", "The patient has right knee pain.", True),
        ("Pneumonia is suspected.", "The patient is suspected of having pneumonia.", True),
        ("Pneumonia was suspected. The X-ray shows pneumonia.", "The patient has pneumonia.", True),
    ],
)
def test_a_supposition_does_not_entail_an_assertion(text: str, claim: str, entailed: bool) -> None:
    assert entails(text, claim) is entailed


@pytest.mark.parametrize(
    ("text", "claim", "entailed"),
    [
        ("Cough for 3 weeks.", "The patient has had a cough for 3 months.", False),
        ("Cough for 3 weeks. Fever for 3 days.", "The patient has had a cough for 3 weeks.", True),
        ("Pain after meals.", "The patient has pain before meals.", False),
        ("She denies smoking.", "The patient's sister denies smoking.", False),
        ("Her sister has diabetes.", "The patient's sister has diabetes.", True),
        ("The patient has headaches.", "The patient has severe headaches.", False),
        ("The patient has headaches.", "The patient does not have severe headaches.", False),
    ],
)
def test_unit_order_person_and_severity_have_to_be_those_of_the_text(text: str, claim: str, entailed: bool) -> None:
    assert entails(text, claim) is entailed


def test_a_rare_word_without_a_counterpart_counts_as_paraphrase() -> None:
    text = "The patient has atrial fibrillation and takes apixaban every morning."
    assert entails(text, "The patient takes apixaban daily for atrial fibrillation.")


def test_nothing_entails_and_nothing_is_entailed_by_an_empty_text() -> None:
    assert not entails("", "The patient has a fever.")
    assert not entails(NOTE, "")


@pytest.fixture(scope="module")
def aci() -> tuple[pd.DataFrame, dict, dict]:
    folder = sources_folder()
    assert folder is not None
    encounters = read_aci_bench(folder)
    outputs = read_outputs(folder, {name: f"aci_bench/predictions/{file}.csv" for name, file in FILES.items()})
    return encounters, outputs, read_subclaims(folder, encounters)


def _printed(stem: str) -> pd.DataFrame:
    return pd.read_csv(PUBLISHED / f"doclens_{stem}.csv")


@needs_sources
def test_sixteen_cells_lie_near_gpt_4(aci: tuple) -> None:
    encounters, outputs, subclaims = aci
    documents = encounter_documents(encounters, outputs, subclaims)
    judged = asyncio.run(embedded_recalls(documents))
    recalls = section_recalls(judged, present_shares(documents))
    rows = reproduction_rows(recall_rows(_printed("table25_aci_sections_gpt4"), recalls)).set_index(["row", "column"])
    assert rows.loc[("16 cells", "mean absolute difference"), "reproduced"] <= 4
    assert rows.loc[("16 cells", "correlation"), "reproduced"] >= 0.97
    whole = reproduction_rows(whole_note_rows(_printed("table21_aci_gpt4"), judged))
    assert ((whole["published"] - whole["reproduced"]).abs() <= 4).all()
    others = {"TRUE": _printed("table27_aci_sections_true")}
    beside = distance_metrics(_printed("table25_aci_sections_gpt4"), others, recalls, "ours", seed=1)
    found = beside.set_index(["system", "metric"])["value"]
    assert found["TRUE", "mean absolute difference"] == pytest.approx(0.011, abs=0.0005)
    baseline = found["section present, no claim read", "mean absolute difference"]
    assert rows.loc[("16 cells", "mean absolute difference"), "tolerance"] == pytest.approx(100 * baseline)


@needs_sources
def test_rouge_of_the_open_systems_to_the_last_digit(aci: tuple) -> None:
    encounters, outputs, _ = aci
    notes = dict(zip(encounters["encounter"], encounters["note"], strict=True))
    table20, table24 = _printed("table20_aci_rouge_medcon"), _printed("table24_aci_sections_existing")
    rows = reproduction_rows(rouge_rows(table20, table24, notes, outputs))
    assert len(rows) == 60
    assert ((rows["published"] - rows["reproduced"]).abs() <= rows["tolerance"] + 1e-9).all()


@needs_sources
def test_own_claims_are_entailed_and_changed_or_other_notes_claims_are_not(aci: tuple) -> None:
    encounters, _, subclaims = aci
    notes = dict(zip(encounters["encounter"], encounters["note"], strict=True))
    names, random = sorted(notes), np.random.default_rng(5)
    own, foreign, changed = [], [], []
    for at, name in enumerate(names):
        other = names[(at + 1 + int(random.integers(len(names) - 1))) % len(names)]
        for claim in (claim for part in PARTS for claim in subclaims[name][part]):
            own.append(entails(notes[name], claim))
            foreign.append(entails(notes[other], claim))
            made = [change(claim, kind, random) for kind in KINDS]
            changed += [entails(notes[name], one) for one in made if one is not None]
    assert np.mean(own) >= 0.95
    assert np.mean(foreign) <= 0.05
    assert np.mean(changed) <= 0.15


def test_rows_are_absent_without_the_sources() -> None:
    rows = [
        *rouge_rows(_printed("table20_aci_rouge_medcon"), _printed("table24_aci_sections_existing"), None, None),
        *recall_rows(_printed("table25_aci_sections_gpt4"), None),
        *whole_note_rows(_printed("table21_aci_gpt4"), None),
    ]
    frame = reproduction_rows(rows)
    assert len(frame) == 60 + 16 + 4
    assert set(frame["basis"]) == {"absent"}
    assert frame["reproduced"].isna().all()
    assert set(OPEN_SYSTEMS) == set(FILES)
