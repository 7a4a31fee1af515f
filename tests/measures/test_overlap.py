"""Overlap metrics by hand, against the packages and independent implementations; agreement between metrics."""

import asyncio
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from rouge_score import rouge_scorer

from schemas.params.measures import Overlap
from schemas.tables.metrics import METRICS
from tasks.measures.declared import Plan
from tasks.measures.overlap.measure import judge
from tasks.measures.overlap.scoring import (
    EMPTY_PART,
    Words,
    agreement_rows,
    bert_score,
    beside_claims,
    has_words,
    overlap_rows,
    part_texts,
    rouge,
    score_correlations,
    score_outputs,
    score_texts,
    section_rouge,
    verdicts_of,
)
from tasks.text.soap import split_soap
from tasks.texts.document import Document
from tests.support.nli import save_classifier
from tests.support.params import shipped
from tests.support.scripted import DirectAsk

PIECES = ("cough ", "no ", "fever. ", "Pain\n", "the ", "38.5 °C ", "pain, ", "\n", "Über ")
NOTE = "CHIEF COMPLAINT\nCough.\n\nPHYSICAL EXAM\nLungs: clear.\n\nRESULTS\nX-ray normal.\n\nASSESSMENT AND PLAN\nRest."


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Dry cough, 38.5 °C – no_rash", ["dry", "cough", "38", "5", "c", "no", "rash"]),
        ("Mal de tête", ["mal", "de", "tête"]),
        ("te\u0302te", ["tête"]),
        ("干咳3周。", ["干", "咳", "3", "周"]),
        ("сухой кашель", ["сухой", "кашель"]),
    ],
)
def test_words_of_every_alphabet_are_tokens(text: str, tokens: list[str]) -> None:
    assert Words().tokenize(text) == tokens
    assert rouge([text], [text]).loc[0, "rouge1_f"] == 1, "a text that is the same is found whole"


def test_a_reference_without_words_has_no_rouge() -> None:
    assert rouge([".", "a cough"], [".", "cough"])["rouge1_f"].isna().tolist() == [True, False]


def test_an_english_reference_has_the_tokens_of_the_papers_whatever_the_output_says() -> None:
    scorer = rouge_scorer.RougeScorer(["rouge1"])
    texts = "no chest pain", "No tête-à-tête, chest pain."
    assert rouge([texts[0]], [texts[1]]).loc[0, "rouge1_f"] == scorer.score(*texts)["rouge1"].fmeasure


def test_an_empty_output_overlaps_nothing_and_has_no_words() -> None:
    assert (rouge(["a cough"], [""]).iloc[0] == 0).all()
    found, _ = score_texts(["a cough", "a"], ["", "dry cough"], Overlap())
    assert found["bleu"].tolist()[0] == 0 and found["words"].tolist() == [0, 2]


def test_soap_parts_run_to_the_next_heading_and_missing_ones_are_marked() -> None:
    assert list(split_soap(NOTE)) == ["subjective", "objective_exam", "objective_results", "assessment_and_plan"]
    assert split_soap(NOTE)["objective_exam"] == "PHYSICAL EXAM\nLungs: clear.\n\n"
    assert split_soap("He coughs.") == {"subjective": "He coughs."}
    assert part_texts(["He coughs."], "objective_exam") == [EMPTY_PART]


def test_a_bertscore_model_that_is_not_there_is_a_reason_not_a_score(tmp_path) -> None:
    found, reason = bert_score(["a"], ["b"], Overlap(bert_score_model=str(tmp_path / "none"), bert_score_layer=1))
    assert found is None
    assert reason and "none" in reason


def test_bertscore_by_a_models_folder(tmp_path: Path) -> None:
    params = Overlap(bert_score_model=str(save_classifier(tmp_path / "model")), bert_score_layer=1)
    same, long = "the lungs are clear", "no wheeze " * 40  # longer than the model reads
    scored, absent = score_texts([same, same, long], [same, " ", same], params)
    assert "bertscore" not in absent
    assert scored["bertscore_f1"].tolist()[:2] == pytest.approx([1, 0], abs=1e-5)
    assert scored["bertscore_r"].notna().all()
    _, reason = bert_score([same], [same], params.model_copy(update={"bert_score_layer": 99}))
    assert reason and reason.startswith("BERTScore model")


DOCUMENTS = [
    Document("1", (), "dry cough", outputs={"a": "dry cough", "b": "dry"}),
    Document("2", (), "no fever", outputs={"a": "no fever", "b": ""}),
]


def test_scores_of_systems_are_means_and_absent_metrics_are_listed_with_their_requirements() -> None:
    scored, absent = score_outputs(DOCUMENTS, Overlap())
    rows = METRICS.validate(overlap_rows(verdicts_of(scored), absent, stage="s", seed=1))
    rows = rows.set_index(["system", "metric"])
    assert rows.loc[("a", "rouge1_r"), "value"] == 1
    assert rows.loc[("b", "rouge1_r"), "value"] == pytest.approx(1 / 4)  # 1/2 and 0
    missing = rows.loc["all systems"]
    assert {"bertscore", "bleurt", "medcon", "f1_radgraph"} == set(missing.index) and missing["value"].isna().all()
    assert missing.loc["medcon", "provenance"].startswith("absent: needs a UMLS licence")
    claims = pd.DataFrame({"document": ["1", "2"], "system": "a", "item": "all", "metric": "claim_recall", "value": 1})
    together = beside_claims(scored, claims).set_index(["document", "system"])["claim_recall"]
    assert together.isna().to_dict() == {("1", "a"): False, ("2", "a"): False, ("1", "b"): True, ("2", "b"): True}
    about = {"stage": "s", "seed": 1, "condition": "c", "provenance": "p"}
    agreed = agreement_rows(beside_claims(scored, claims), **about).query("item == 'rouge1_r and claim_recall'")
    assert agreed[["system", "n", "unscored"]].to_numpy().tolist() == [["notes", 2, 2], ["systems", 1, 1]]
    own = score_correlations(beside_claims(scored, claims), {"recall": "claim_recall"}, ["bleu"], **about)
    assert own.groupby("system")[["n", "unscored"]].first().to_numpy().tolist() == [[2, 0], [0, 2]]


def test_a_missing_output_and_a_reference_without_words_have_no_value() -> None:
    documents = [
        Document("1", (), "a cough", outputs={"a": "cough"}),
        Document("2", (), ".", outputs={"a": "x", "b": ""}),
    ]
    found = asyncio.run(judge(Plan((), ("a", "b")), shipped(), DirectAsk, documents))
    rows = overlap_rows(found["verdicts"], {}, stage="s", seed=1).set_index(["system", "metric"])
    assert rows.loc[("a", "rouge1_r"), ["value", "n", "unscored"]].tolist() == [0.5, 1, 1]
    assert rows.loc[("b", "words"), ["value", "n", "unscored"]].tolist() == [0, 1, 1]
    assert not rows.index.get_level_values("metric").str.endswith(("_pooled", "_bounds")).any()
    assert found["unscored"][["record", "reason"]].to_numpy().tolist() == [["2", "the reference has no word"]]


def test_sections_are_scored_where_the_reference_has_them_and_soap_parts_always() -> None:
    document = Document("1", ("x",), "PLAN\nRest.", outputs={"s": "EXAM\nClear.\nPLAN\nRest."})
    headings = section_rouge([document], "headings").set_index(["item", "metric"])["value"]
    assert set(headings.index.get_level_values("item")) == {"plan"} and headings["plan", "rouge1_f"] == 1
    soap = section_rouge([document], "soap").set_index(["item", "metric"])["value"]
    assert soap["objective_results", "rouge1_f"] == 1, "both lack the part"
    assert section_rouge([document], "whole").empty


def texts(seed: int, n: int) -> list[str]:
    random = Random(seed)
    return ["".join(random.choices(PIECES, k=random.randint(0, 25))) for _ in range(n)]


def test_rouge_has_the_numbers_of_the_package() -> None:
    references, outputs = texts(3, 200), texts(4, 200)
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])
    ours = rouge(references, outputs)
    assert ours["rouge1_f"].isna().mean() < 0.2, "of references of line breaks, for which the package has 0"
    for at, pair in enumerate(zip(references, outputs, strict=True)):
        for name, score in scorer.score(*pair).items():
            found = tuple(ours.loc[at, [f"{name}_f", f"{name}_p", f"{name}_r"]])
            if has_words(pair[0]):
                assert found == (score.fmeasure, score.precision, score.recall)
