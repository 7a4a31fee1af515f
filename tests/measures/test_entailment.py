"""The simulator's rules of entailment, claim by claim, and on the published subclaims of ACI-BENCH."""

import numpy as np

from tasks.judges.changes import KINDS, change
from tasks.simulator.judge.lexicon import lexicon, stem
from tasks.simulator.judge.verdicts import align, entails
from tasks.texts.aci_bench import read_encounters
from tests.support.cases import from_table
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


@from_table
def test_a_claim_is_entailed_or_not(text: str | None, claim: str, entailed: bool) -> None:
    text = NOTE if text is None else text
    assert entails(text, claim) is entailed, align(text, claim)


@from_table
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
