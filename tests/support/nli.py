"""Tiny inference models with random weights in folders, in both supported forms."""

from pathlib import Path
from typing import Any

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "lungs", "are", "clear", "no", "wheeze", "knee", "1", "0"]


def _tokenizer(longest: int, *, pairs: bool) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if pairs:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        eos_token="[SEP]",
        **({"cls_token": "[CLS]", "sep_token": "[SEP]"} if pairs else {}),
        model_max_length=longest,
    )


def save_classifier(folder: Path) -> Path:
    """A classifier of sequence pairs, sixteen tokens long."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    _tokenizer(16, pairs=True).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
        id2label={0: "contradiction", 1: "neutral", 2: "entailment"},
        label2id={"contradiction": 0, "neutral": 1, "entailment": 2},
    )
    torch.manual_seed(0)  # other weights may match two tokens all but equally well
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def save_true_style(folder: Path) -> Path:
    """A sequence-to-sequence model in TRUE's form."""
    from transformers import T5Config, T5ForConditionalGeneration

    _tokenizer(64, pairs=False).save_pretrained(folder)
    config = T5Config(
        vocab_size=len(WORDS),
        d_model=8,
        d_kv=4,
        d_ff=8,
        num_layers=1,
        num_heads=2,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=0,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder
