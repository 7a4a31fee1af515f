"""DocLens's formulas on cases small enough to check on paper."""

import pytest

from tasks.evaluation.doclens.aggregates import aggregate
from tasks.evaluation.doclens.citation_score import (
    CitedStatement,
    citation_precision,
    citation_recall,
    necessary_citations,
    provenance_citations,
)
from tasks.evaluation.doclens.citations import Statement, read_statements
from tasks.evaluation.doclens.claim_score import claim_precision, claim_recall


def test_claim_scores_are_shares_of_entailed_claims() -> None:
    assert claim_recall([True, True, False]) == pytest.approx(2 / 3)
    assert claim_precision([True, False, False, False]) == 0.25


def test_text_without_claims_has_no_score() -> None:
    assert claim_recall([]) is None
    assert claim_precision([]) is None


def test_failed_judgement_is_neither_entailed_nor_not() -> None:
    assert claim_recall([True, None]) == 1.0
    assert claim_recall([None, None]) is None


def test_redundant_citation_of_figure_3() -> None:
    # "[21][22][23]": only 21 and 22 together support the statement, so both are needed and 23 is not.
    statement = CitedStatement(True, alone=(False, False, False), without=(False, False, True))
    assert necessary_citations(statement) == [True, True, False]
    assert citation_precision(necessary_citations(statement)) == pytest.approx(2 / 3)
    assert citation_recall([statement.supported]) == 1.0


def test_citations_that_each_suffice_are_all_necessary() -> None:
    # Condition (ii) holds by c => s, although without either the other still supports the statement.
    assert necessary_citations(CitedStatement(True, alone=(True, True), without=(True, True))) == [True, True]


def test_citations_of_an_unsupported_statement_are_all_wrong() -> None:
    assert necessary_citations(CitedStatement(False, alone=(False,), without=(False,))) == [False]


def test_citation_without_the_deciding_judgement_is_unscored() -> None:
    assert necessary_citations(CitedStatement(None, alone=(True,), without=(False,))) == [None]
    assert necessary_citations(CitedStatement(True, alone=(None,), without=(False,))) == [True]
    assert necessary_citations(CitedStatement(True, alone=(False,), without=(None,))) == [None]


def test_statement_without_citations_lowers_recall_and_has_no_precision() -> None:
    bare, cited = CitedStatement(False), CitedStatement(True, alone=(True,), without=(False,))
    assert citation_recall([bare.supported, cited.supported]) == 0.5
    assert citation_precision([*necessary_citations(bare), *necessary_citations(cited)]) == 1.0
    assert citation_precision(necessary_citations(bare)) is None


def test_one_call_variant_takes_the_named_citations() -> None:
    assert provenance_citations(True, [21, 22, 23], [21, 22]) == [True, True, False]
    assert provenance_citations(False, [21], [21]) == [False]
    assert provenance_citations(None, [21], [21]) == [None]


def test_mean_over_texts_and_pooled_over_claims_differ() -> None:
    # One text with 1 of 1, one with 1 of 4: mean (1 + 0.25) / 2, pooled 2 / 5; the text without claims counts nowhere.
    found = aggregate([[True], [True, False, False, False], []], claim_recall, seed=1)
    assert (found.mean, found.pooled) == (0.625, 0.4)
    assert (found.texts, found.judgements, found.unscored) == (2, 5, 0)
    assert found.mean_low <= found.mean <= found.mean_high


def test_aggregate_of_nothing_is_no_number() -> None:
    found = aggregate([[None], []], claim_recall, seed=1)
    assert found.texts == 0
    assert found.unscored == 1
    assert found.mean != found.mean


def test_statements_take_the_citations_behind_them() -> None:
    note = "HISTORY\n\nCough for a week [1] [2]. No fever.[3]\nHe smokes. He drinks [4].\n- Lungs clear [5]"
    assert read_statements(note) == [
        Statement("Cough for a week.", (1, 2)),
        Statement("No fever.", (3,)),
        Statement("He smokes.", (4,)),  # from the next sentence of its line
        Statement("He drinks.", (4,)),
        Statement("- Lungs clear", (5,)),
    ]


def test_a_citation_ends_a_statement_and_an_abbreviation_does_not() -> None:
    assert read_statements("No perc. pain spin. proc. [15]. Flex ltd by pain [16]. Lower lumbar, sl. L>R [2].") == [
        Statement("No perc. pain spin. proc.", (15,)),
        Statement("Flex ltd by pain.", (16,)),
        Statement("Lower lumbar, sl. L>R.", (2,)),
    ]
    assert read_statements("Cough [1], no fever [2]. Denies pain. Lungs clear bilat. [3] Heart regular [4]") == [
        Statement("Cough, no fever.", (1, 2)),
        Statement("Denies pain.", (3,)),
        Statement("Lungs clear bilat.", (3,)),
        Statement("Heart regular", (4,)),
    ]


def test_sentence_that_nothing_cites_stays_without() -> None:
    assert read_statements("He smokes two packs.") == [Statement("He smokes two packs.", ())]
    assert read_statements("") == []
