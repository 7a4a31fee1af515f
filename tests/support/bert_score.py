"""BERTScore from its definition (Zhang et al. 2020, Section 3), to compare the package `bert_score` with.

Every token vector is matched with the most similar vector of the other text. Marks of beginning and end may be matched,
but do not count themselves; all other tokens count equally (no idf weights, no rescaling).
"""

from collections.abc import Sequence

import torch

Scores = tuple[float, float, float]
"""Precision, recall and F1."""


def bert_scores(references: Sequence[str], outputs: Sequence[str], *, model: str, layer: int) -> list[Scores]:
    """Scores of each output against its reference, by the hidden states of ``layer`` (1 for the first)."""
    from transformers import AutoModel, AutoTokenizer  # two seconds, for one test

    tokenizer, encoder = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model).eval()

    def vectors(text: str) -> tuple[torch.Tensor, torch.Tensor]:
        given = tokenizer(text.strip(), truncation=True, return_tensors="pt")
        ids = given["input_ids"][0]
        with torch.inference_mode():
            hidden = encoder(**given, output_hidden_states=True).hidden_states[layer][0]
        counts = (ids != tokenizer.cls_token_id) & (ids != tokenizer.sep_token_id)
        return torch.nn.functional.normalize(hidden, dim=-1), counts

    scores = []
    for reference, output in zip(references, outputs, strict=True):
        (wanted, counts_wanted), (found, counts_found) = vectors(reference), vectors(output)
        similarity = found @ wanted.T
        precision = similarity.max(dim=1).values[counts_found].mean()
        recall = similarity.max(dim=0).values[counts_wanted].mean()
        scores.append((float(precision), float(recall), float(2 * precision * recall / (precision + recall))))
    return scores
