"""The simulator's rules of entailment, claim by claim, and on the published subclaims of ACI-BENCH."""

import numpy as np
import pytest

from tasks.judges.changes import KINDS, change
from tasks.simulator.judge.lexicon import lexicon, stem
from tasks.simulator.judge.verdicts import align, entails
from tasks.texts.aci_bench import read_encounters
from tests.support.sources import needs_sources, sources_folder

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


ENTAILED = (
    "The patient is 54 years old.",
    "The patient has had dyspnea for three weeks.",
    "The patient does not have a fever.",
    "The patient has no chest pain.",
    "The right knee is swollen.",
    "There is no wheezing.",
    "The patient has hypertension.",
    "Lisinopril 20 mg daily will be continued for hypertension.",
    "The Lachman test of the right knee is negative.",
)
CHANGED = (
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
    "",
)
TEXTS = [
    # what is supposed only
    ("The pain may be muscular in origin.", "The patient has muscular pain.", False),
    ("Pneumonia is suspected.", "The patient has pneumonia.", False),
    ("Right knee pain, likely osteoarthritis.", "The patient has osteoarthritis of the right knee.", False),
    ("Right knee pain, likely osteoarthritis.", "The patient has right knee pain.", True),
    ("Pneumonia is suspected.", "The patient is suspected of having pneumonia.", True),
    ("Pneumonia was suspected. The X-ray shows pneumonia.", "The patient has pneumonia.", True),
    # unit, order, person and severity
    ("Cough for 3 weeks.", "The patient has had a cough for 3 months.", False),
    ("Cough for 3 weeks. Fever for 3 days.", "The patient has had a cough for 3 weeks.", True),
    ("Pain after meals.", "The patient has pain before meals.", False),
    ("She denies smoking.", "The patient's sister denies smoking.", False),
    ("Her sister has diabetes.", "The patient's sister has diabetes.", True),
    ("The patient has headaches.", "The patient has severe headaches.", False),
    ("The patient has headaches.", "The patient does not have severe headaches.", False),
    # a rare word without a counterpart counts as paraphrase
    ("He has atrial fibrillation and takes apixaban every morning.", "He takes apixaban daily.", True),
    ("", "The patient has a fever.", False),
]
SWAPS = [
    ("She was started on apixaban for atrial fibrillation.", "apixaban", "dabigatran"),
    ("He is on rivaroxaban after his pulmonary embolism.", "rivaroxaban", "edoxaban"),
    ("Continue ticagrelor for one year.", "ticagrelor", "prasugrel"),
    ("He takes doxazosin at night for his prostate.", "doxazosin", "oxybutynin"),
    ("Aripiprazole was added for depression.", "Aripiprazole", "Lamotrigine"),
    ("He received cisplatin for his lung cancer.", "cisplatin", "paclitaxel"),
    ("Ezetimibe 10 mg was added to her regimen.", "Ezetimibe", "Fenofibrate"),
]


@pytest.mark.parametrize(
    ("text", "claim", "entailed"),
    [*((NOTE, claim, True) for claim in ENTAILED), *((NOTE, claim, False) for claim in CHANGED), *TEXTS],
)
def test_a_claim_is_entailed_or_not(text: str, claim: str, entailed: bool) -> None:
    assert entails(text, claim) is entailed, align(text, claim)


@pytest.mark.parametrize(("text", "drug", "other"), SWAPS)
def test_a_drug_outside_the_word_lists_is_not_entailed_by_another(text: str, drug: str, other: str) -> None:
    listed = lexicon().drugs
    assert stem(drug.lower()) not in listed and stem(other.lower()) not in listed
    assert entails(text, text) and not entails(text, text.replace(drug, other))


@needs_sources
def test_own_claims_are_entailed_and_changed_or_other_notes_claims_are_not() -> None:
    folder = sources_folder()
    assert folder is not None
    documents = sorted(read_encounters(folder, {}, subclaims=True), key=lambda one: one.id)
    random = np.random.default_rng(5)
    own, foreign, changed = [], [], []
    for at, document in enumerate(documents):
        note = str(document.reference)
        other = str(documents[(at + 1 + int(random.integers(len(documents) - 1))) % len(documents)].reference)
        for claim in (claim for claims in (document.claims or {}).values() for claim in claims):
            own.append(entails(note, claim))
            foreign.append(entails(other, claim))
            made = [change(claim, kind, random) for kind in KINDS]
            changed += [entails(note, one) for one in made if one is not None]
    assert np.mean(own) >= 0.95 and np.mean(foreign) <= 0.05 and np.mean(changed) <= 0.15
