"""Natural language inference models, by name or folder: whether a premise entails a hypothesis.

Two kinds of Hugging Face model are supported: sequence-pair classifiers with an entailment label, and TRUE-style models
(Honovich et al. 2022), sequence-to-sequence models that answer "1" to ``premise: ... hypothesis: ...``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer

from schemas.errors import SourceError
from schemas.params.base import Device
from tasks.encoder.encoder import found_model, torch_device

Pair = tuple[str, str]


@dataclass
class NliModel:
    """A loaded model. ``entailing`` is the index of its entailment label; None for a TRUE-style model."""

    label: str
    model: Any
    tokenizer: Any
    batch: int
    entailing: int | None

    def entail(self, pairs: Sequence[Pair]) -> list[bool]:
        """For each (premise, hypothesis) whether entailment is the most likely label.

        A premise too long for the model is truncated at its end; the hypothesis is not. Batches are made of pairs of
        similar length to limit padding; results are in the order of ``pairs``.
        """
        found: dict[Pair, bool] = {}
        by_length = sorted(set(pairs), key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        for start in range(0, len(by_length), self.batch):
            batch = by_length[start : start + self.batch]
            with torch.inference_mode():
                answers = self._generate(batch) if self.entailing is None else self._classify(batch)
            found.update(zip(batch, answers, strict=True))
        return [found[pair] for pair in pairs]

    def _classify(self, batch: list[Pair]) -> list[bool]:
        premises, hypotheses = [pair[0] for pair in batch], [pair[1] for pair in batch]
        tokens = self.tokenizer(
            premises,
            hypotheses,
            truncation="only_first",
            max_length=self._longest(),
            padding=True,
            return_tensors="pt",
        ).to(self.model.device)
        labels = self.model(**tokens).logits.argmax(dim=-1)
        return [int(label) == self.entailing for label in labels]

    def _generate(self, batch: list[Pair]) -> list[bool]:
        # The hypothesis comes last, so the premise is truncated here and not by the tokenizer.
        texts = [f"premise: {self._cut(premise, hypothesis)} hypothesis: {hypothesis}" for premise, hypothesis in batch]
        tokens = self.tokenizer(texts, padding=True, return_tensors="pt").to(self.model.device)
        replies = self.model.generate(**tokens, max_new_tokens=3)
        return [reply.strip() == "1" for reply in self.tokenizer.batch_decode(replies, skip_special_tokens=True)]

    def _cut(self, premise: str, hypothesis: str) -> str:
        room = self._longest() - len(self.tokenizer(hypothesis)["input_ids"]) - 16
        ids = self.tokenizer(premise, add_special_tokens=False)["input_ids"]
        if len(ids) <= room:
            return premise
        return str(self.tokenizer.decode(ids[: max(room, 1)], skip_special_tokens=True))

    def _longest(self) -> int:
        positions = getattr(self.model.config, "max_position_embeddings", None) or 2048
        # RoBERTa numbers positions from its padding index on, so two of them are unusable.
        usable = positions - 2 if getattr(self.model.config, "model_type", "") == "roberta" else positions
        return int(min(self.tokenizer.model_max_length, usable))


def load_nli(name: str, *, batch: int = 16, device: Device = "cpu") -> NliModel:
    """The model of that name (a folder, or a name on the Hugging Face hub); device ``auto``: a GPU if there is one.

    Raises SourceError when it cannot be loaded or has no entailment label, and ParamsError for ``cuda`` without a GPU.
    """
    chosen = torch_device(device, "doclens.nli_device")
    with found_model("NLI model", name, "a sequence-pair classifier or a TRUE-style model") as arguments:
        config = AutoConfig.from_pretrained(**arguments)
        tokenizer = AutoTokenizer.from_pretrained(**arguments)
        kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForSequenceClassification
        model = kind.from_pretrained(**arguments).eval().to(chosen)
    return NliModel(name, model, tokenizer, batch, None if config.is_encoder_decoder else _entailing(name, config))


def _entailing(name: str, config: Any) -> int:
    for index, label in config.id2label.items():
        plain = str(label).lower().replace("_", "").replace("-", "").replace(" ", "")
        if plain.startswith("entail") or plain in ("yes", "supported"):
            return int(index)
    raise SourceError(
        f"NLI model {name!r}: none of its labels {sorted(map(str, config.id2label.values()))} is entailment; "
        "set id2label in its config.json"
    )
