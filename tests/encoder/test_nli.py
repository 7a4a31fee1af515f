"""Whether a premise entails a hypothesis: alike in any batch; a long premise is cut."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from transformers import AutoTokenizer

from schemas.errors import SourceError
from tasks.encoder.nli import NliModel, _entailing, load_nli
from tests.support.nli import save_classifier, save_true_style


@pytest.mark.parametrize("save", [save_classifier, save_true_style])
def test_a_model_of_a_folder_answers_alike_in_any_batch(tmp_path: Path, save: Callable[[Path], Path]) -> None:
    name = str(save(tmp_path / "model"))
    one, many = (load_nli(name, batch=batch) for batch in (1, 16))
    pairs = [("the lungs are clear", said) for said in ("lungs", "no wheeze", "lungs are clear", "lungs")]
    assert one.label == name and one.entail(pairs) == many.entail(pairs)
    assert one.entailing == (2 if save is save_classifier else None)
    tokens = one.tokenizer(*pairs[0], return_tensors="pt")  # TRUE's form answers 1, which random weights do not
    assert one.entail(pairs)[0] is (save is save_classifier and int(one.model(**tokens).logits.argmax()) == 2)


def test_a_long_premise_is_cut_before_the_hypothesis(tmp_path: Path) -> None:
    """The hypothesis takes one place and the form 16; one word of the premise is left in any case."""
    name, bert, roberta = str(save_true_style(tmp_path)), (40, "bert"), (40, "roberta")
    t5 = (None, "t5")
    for longest, of, most in ((64, t5, 47), (10, bert, 1), (3000, t5, 2031), (64, bert, 23), (64, roberta, 21)):
        config = SimpleNamespace(max_position_embeddings=of[0], model_type=of[1])
        tokenizer = AutoTokenizer.from_pretrained(name, model_max_length=longest)
        model = NliModel("m", SimpleNamespace(config=config), tokenizer, 2, None)
        assert model._cut("the " * (most + 1), "wheeze").split() == ["the"] * most


def test_the_entailment_label_is_found_by_its_name() -> None:
    for labels in (["no", "NOT_ENTAILMENT", "En-tails"], ["refuted", "neutral", "Yes"]):
        assert _entailing("m", SimpleNamespace(id2label=dict(enumerate(labels)))) == 2
    with pytest.raises(SourceError, match=r"'m': none of its labels \['LABEL_0'\] is entailment; set id2label"):
        _entailing("m", SimpleNamespace(id2label={0: "LABEL_0"}))
