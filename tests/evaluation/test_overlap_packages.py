"""ROUGE and BERTScore equal the packages and independent implementations, which can replace the packages."""

from pathlib import Path
from random import Random

import pandas as pd
import pytest
from rouge_score import rouge_scorer

from tasks.evaluation.overlap.scores import bert_score, rouge
from tests.support import rouge as definition
from tests.support.bert_score import bert_scores
from tests.support.nli import save_classifier

PIECES = ("cough ", "no ", "fever. ", "Pain\n", "the ", "38.5 °C ", "pain, ", "\n", "Über ")


def texts(seed: int, n: int) -> list[str]:
    random = Random(seed)
    return ["".join(random.choices(PIECES, k=random.randint(0, 25))) for _ in range(n)]


def test_rouge_equals_its_definition() -> None:
    references, outputs = texts(1, 200), texts(2, 200)
    defined = [definition.rouge(*pair) for pair in zip(references, outputs, strict=True)]
    pd.testing.assert_frame_equal(rouge(references, outputs), pd.DataFrame(defined), check_like=True, rtol=1e-12)


def test_the_longest_common_subsequence_is_that_of_the_package() -> None:
    references, outputs = texts(3, 200), texts(4, 200)
    scorer = rouge_scorer.RougeScorer(["rougeL", "rougeLsum"])
    ours = rouge(references, outputs)
    for at, pair in enumerate(zip(references, outputs, strict=True)):
        for name, score in scorer.score(*pair).items():
            found = tuple(ours.loc[at, [f"{name}_f", f"{name}_p", f"{name}_r"]])
            assert found == (score.fmeasure, score.precision, score.recall)


def test_bert_score_equals_its_definition(tmp_path: Path) -> None:
    pytest.importorskip("bert_score", reason="an extra: pip install -e '.[bert-score]'")
    model = str(save_classifier(tmp_path / "model"))
    references = ["the lungs are clear", "no wheeze is heard", "the patient coughs at night"]
    outputs = ["lungs clear", "a wheeze is heard in both lungs", "coughs"]
    found, _ = bert_score(references, outputs, model=model, layer=1)
    assert found is not None
    defined = bert_scores(references, outputs, model=model, layer=1)
    for row, expected in zip(found.to_numpy().tolist(), defined, strict=True):
        assert row == pytest.approx(expected, abs=1e-5)
