"""Vectors of the words of a text in their context, from a layer of a frozen encoder."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModel, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from schemas.errors import SourceError
from schemas.params.base import Device
from tasks.encoder.encoder import Vectors, found_model, pack, torch_device

_LONGEST = 512
"""Tokens of a text that are read, the number of positions of BERT."""


@dataclass(frozen=True)
class Words:
    """Words of one text: ``vectors`` (n, dimension), and the characters of each from ``starts`` to ``ends`` (n,)."""

    vectors: Vectors
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


def word_encoder(name: str, layer: int, device: Device = "cpu") -> Callable[[str], Words]:
    """A function from a text to the vectors of its words after layer ``layer`` of an encoder, 1 for the first.

    A word is what the tokenizer splits before it looks up word pieces; its vector is the mean over its pieces. Later
    layers are not computed: in an encoder trained for vectors of sentences, they say more of the text than of the word.
    Raises SourceError for an encoder that cannot be loaded or has fewer layers, and ParamsError for ``cuda`` without a
    GPU.
    """
    chosen = torch_device(device, "embed.device")
    disable_progress_bar()
    with found_model("encoder", name, "a packaged encoder") as arguments:
        tokenizer = AutoTokenizer.from_pretrained(**arguments)
        model = AutoModel.from_pretrained(**arguments)
    layers = model.encoder.layer
    if layer > len(layers):
        raise SourceError(f"encoder {name!r}: layer {layer} is asked for; it has {len(layers)}")
    model.encoder.layer = layers[:layer]
    packed = pack(model.eval(), "float32", chosen)

    def encode(text: str) -> Words:
        tokens = tokenizer(text, truncation=True, max_length=_LONGEST, return_offsets_mapping=True, return_tensors="pt")
        places = tokens.pop("offset_mapping")[0].numpy()
        words = tokens.word_ids(0)
        with torch.inference_mode():
            vectors = packed(**tokens.to(chosen)).last_hidden_state[0].cpu().numpy()
        return _means(vectors, places, np.array([-1 if word is None else word for word in words]))

    return encode


def _means(vectors: Vectors, places: npt.NDArray[np.int64], words: npt.NDArray[np.int64]) -> Words:
    """Mean over the pieces of each word; ``words`` (n,) numbers them, -1 for special tokens."""
    pieces = words >= 0
    _, first, number, size = np.unique(words[pieces], return_index=True, return_inverse=True, return_counts=True)
    sums = np.zeros((len(first), vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, number, vectors[pieces])
    starts, ends = places[pieces, 0][first], places[pieces, 1][first + size - 1]
    sums /= size.astype(np.float32)[:, None]
    return Words(sums, starts, ends)
