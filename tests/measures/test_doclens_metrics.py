"""DocLens scores by hand, and judgements by models of entailment."""

import numpy as np
import pytest

from schemas.tables.verdicts import Judgement
from tasks.judges.edits import KINDS, change
from tasks.measures.doclens.citations import necessary as is_necessary
from tasks.measures.doclens.published import disagreements
from tasks.simulator.reader.entailment import align, entails
from tasks.texts.aci_bench import read_encounters
from tests.support.cases import from_table
from tests.support.sources import needs_sources, sources_folder


def test_redundant_citation_of_figure_3() -> None:
    # "[21][22][23]": only 21 and 22 together support the statement, so both are needed and 23 is not.
    assert [is_necessary(True, alone=False, without=rest) for rest in (False, False, True)] == [True, True, False]


@from_table
def test_a_citation_is_necessary_if_it_suffices_or_the_rest_does_not(
    supported: Judgement, alone: Judgement, without: Judgement, necessary: Judgement
) -> None:
    assert is_necessary(supported, alone, without) is necessary


def test_metrics_disagree_on_a_pair_that_they_rank_in_opposite_order() -> None:
    assert disagreements([1, 0, 0.5], [0.2, 0.1, 0.9]) == (1, 3)
    assert disagreements([1, 1], [0, 1]) == (0, 1)  # a tie agrees with both orders


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
    assert entails(text, text) and not entails(text, text.replace(drug, other))


@pytest.mark.soak
@needs_sources
def test_own_claims_are_entailed_and_changed_or_other_notes_claims_are_not() -> None:
    folder = sources_folder()
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
    assert np.mean(own) >= 0.75 and np.mean(foreign) <= 0.05 and np.mean(changed) <= 0.15
