"""DocLens scores by hand, and judgements by models of entailment."""

from schemas.tables.verdicts import Judgement
from tasks.measures.doclens.citations import necessary as is_necessary
from tasks.measures.doclens.published import disagreements
from tasks.simulator.reader.entailment import align, entails
from tests.support.cases import from_table


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
