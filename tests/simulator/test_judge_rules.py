"""The judge of claims: shorthand, the end of a denial, causes, quantities, frequencies, courses and listed findings."""

import pytest

from tasks.simulator.judge.entailment import align, entails

SHORTHAND = [
    ("Back pain x4d.", "The patient has had back pain for four days.", True),
    ("Back pain x4d.", "The patient has had back pain for four weeks.", False),
    ("Headache for 2/52.", "The patient has had a headache for two weeks.", True),
    ("Ibuprofen 400 mg x2 yesterday.", "The patient took ibuprofen 400 mg twice yesterday.", True),
    ("Knee pain for a year.", "The patient has had knee pain for one year.", True),
    ("P 72 reg.", "The pulse is 72/min and regular.", True),
    ("P 72 reg.", "The pulse is 92/min and regular.", False),
    ("Tender muscles, R>L.", "The muscles are tender, right more than left.", True),
    ("Tender muscles, R>L.", "The muscles are tender, left more than right.", False),
    ("Oedema of both sides, tumour localised.", "Edema on both sides, tumour localized.", True),
    ("Tender at L4-5.", "There is tenderness at L4-L5.", True),
    ("Lungs: no wheeze/creps.", "There are no crackles.", True),
]
DENIALS = [
    ("No edema, calves supple.", "The calves are supple.", True),
    ("No scoliosis, skin normal.", "The skin is normal.", True),
    ("No dyspnea, cycled to the practice.", "The patient cycled to the practice.", True),
    ("He denies chills, nausea, or vomiting.", "The patient has vomiting.", False),
    ("He does not have chills, nausea or vomiting.", "The patient is nauseous.", False),
    ("No edema, ulcer or rash.", "The patient has a rash.", False),
    ("A similar episode resolved within two weeks.", "A similar episode settled in two weeks.", True),
    ("Cough has resolved.", "The patient has a cough.", False),
    ("No pressure tenderness over the spinous processes.", "The spinous processes are not tender.", True),
    ("Spinous processes tender.", "The spinous processes are not tender.", False),
    ("No altered sensation of the saddle area.", "Sensation in the saddle area is normal.", True),
    ("Normal sensation of the saddle area.", "There is altered sensation of the saddle area.", False),
]
CAUSES = [
    ("He has knee pain. He has gout.", "The patient has knee pain due to gout.", False),
    ("Knee pain 2/2 gout.", "The patient has knee pain caused by gout.", True),
    ("He has dizziness. Gout is treated. He fell at work.", "The dizziness is caused by the fall.", False),
    ("Headache x3d. Hypertension, known.", "The headache is due to hypertension.", False),
    ("The rash came after penicillin.", "The rash is attributed to penicillin.", True),
]
CLASSES = [
    ("Some of the joints are swollen.", "All of the joints are swollen.", False),
    ("All joints are swollen.", "All of the joints are swollen.", True),
    ("The pain is mainly in the hip.", "The pain is mostly in the hip.", True),
    ("Occasional headaches.", "The patient has constant headaches.", False),
    ("Headaches at times.", "The patient occasionally has headaches.", True),
    ("The patient has headaches.", "The patient often has headaches.", False),
    ("Back pain after a fall.", "The back pain is gradually worsening after the fall.", False),
    ("The back pain is getting worse after a fall.", "The back pain has worsened since the fall.", True),
    ("The back pain is worse with walking.", "The back pain gets worse when walking.", True),
    ("The back pain is aggravated by walking.", "The back pain gets worse when walking.", True),
]
LISTS = [
    ("No chills or rash.", "The patient denies chills, rash and palpitations.", False),
    ("No chills, rash or palpitations.", "The patient denies chills, rash and palpitations.", True),
    ("No chills or edema.", "The patient has no chills and no swelling.", True),
]


@pytest.mark.parametrize(("text", "claim", "entailed"), [*SHORTHAND, *DENIALS, *CAUSES, *CLASSES, *LISTS])
def test_a_claim_is_entailed_only_by_a_text_that_says_so(text: str, claim: str, entailed: bool) -> None:
    assert entails(text, claim) is entailed, align(text, claim)
